#include "cli/placement/pod_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/yaml.h"

namespace galen::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Json FromYaml(std::string_view yaml) { return ParseYaml(yaml).value(); }

constexpr std::string_view kTemplate = R"({kind: ResourceClaimTemplate, metadata: {name: one,
    namespace: ns}, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: g}}]}}}})";
constexpr std::string_view kPod = R"({kind: Pod, metadata: {name: p, namespace: ns}, spec:
    {containers: [{name: c}], resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]}})";

class PodQuestionTest : public ::testing::Test {
 protected:
  // In the cluster.
  void Has(std::string_view yaml) {
    const Json object = FromYaml(yaml);
    const Json& meta = object["metadata"];
    cluster_[object["kind"].AsString() + " " + meta["namespace"].AsString() + "/" +
             meta["name"].AsString()] = object;
  }
  Lookup Looking() {
    return [this](const kube::Resource& kind, const ObjectKey& key) -> StatusOr<Json> {
      const auto found = cluster_.find(kind.kind + " " + ToString(key));
      if (found == cluster_.end()) return NotFound("{} {}", kind.kind, ToString(key));
      return found->second;
    };
  }
  StatusOr<PodQuestion> Of(std::string_view pod) { return QuestionOfPod(FromYaml(pod), Looking()); }
  StatusOr<PodQuestion> OfManifest(std::vector<std::string_view> documents) {
    std::vector<Json> read;
    for (const std::string_view document : documents) read.push_back(FromYaml(document));
    return QuestionOfManifest(read, "ns", Looking(), picture_);
  }

  std::map<std::string, Json> cluster_;
  alloc::Picture picture_;
};

TEST_F(PodQuestionTest, AClaimOfATemplateIsAskedForAsItWillBeMade) {
  Has(kTemplate);
  const PodQuestion asked = Of(kPod).value();
  EXPECT_EQ(asked.subject, "Pod ns/p");
  ASSERT_THAT(asked.question.claims, SizeIs(1));
  EXPECT_EQ(asked.question.claims[0].name, "p-gpu");
  EXPECT_EQ(asked.question.claims[0].requests.at(0).wishes.at(0).count, 1) << "by default";
}

TEST_F(PodQuestionTest, AClaimThatWasMadeCountsAndNotItsTemplate) {
  Has(R"({kind: ResourceClaim, metadata: {name: made, namespace: ns}, spec: {devices: {requests:
      [{name: gpu, exactly: {deviceClassName: g, count: 2}}]}}})");
  Json pod = FromYaml(kPod);
  pod["status"] = FromYaml("{resourceClaimStatuses: [{name: gpu, resourceClaimName: made}]}");
  const PodQuestion asked = QuestionOfPod(pod, Looking()).value();
  EXPECT_EQ(asked.question.claims.at(0).requests.at(0).wishes.at(0).count, 2);
}

TEST_F(PodQuestionTest, AClaimWithDevicesBindsThePodToTheirNodeAndIsNotAskedFor) {
  Has(R"({kind: ResourceClaim, metadata: {name: held, namespace: ns}, spec: {devices: {requests:
      [{name: gpu, exactly: {deviceClassName: g}}]}}, status: {allocation: {devices: {results:
      [{request: gpu, driver: d, pool: n, device: x}]}, nodeSelector: {nodeSelectorTerms:
      [{matchFields: [{key: metadata.name, operator: In, values: [n]}]}]}}}})");
  const PodQuestion asked = Of(R"({metadata: {name: p, namespace: ns}, spec:
      {resourceClaims: [{name: gpu, resourceClaimName: held}]}})")
                                .value();
  EXPECT_THAT(asked.question.claims, IsEmpty());
  const alloc::NodeState here{.node = {.name = "n"}, .ready = true};
  const alloc::NodeState elsewhere{.node = {.name = "m"}, .ready = true};
  EXPECT_EQ(RefusalOf(asked.question.reach, here), "");
  EXPECT_NE(RefusalOf(asked.question.reach, elsewhere), "");
}

TEST_F(PodQuestionTest, WhatDoesNotExistIsNamed) {
  const Status missing = Of(kPod).status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("ResourceClaimTemplate ns/one"));
}

TEST_F(PodQuestionTest, APodThatHasItsNodeSaysSo) {
  EXPECT_EQ(Of("{metadata: {name: p}, spec: {nodeName: n}}").value().placed_on, "n");
}

TEST_F(PodQuestionTest, ExtendedResourcesAreNotLookedAtAndSaidNotToBe) {
  const PodQuestion asked = Of(R"({metadata: {name: p}, spec: {containers: [{resources:
      {limits: {cpu: 1, 'example.com/gpu': 1}}}]}})")
                                .value();
  EXPECT_THAT(asked.notes, ElementsAre(HasSubstr("extended resources")));
  EXPECT_THAT(Of("{spec: {containers: [{resources: {limits: {cpu: 1}}}]}}").value().notes,
              IsEmpty());
}

TEST_F(PodQuestionTest, AManifestBringsItsOwnTemplatesAndClasses) {
  const PodQuestion asked =
      OfManifest({kTemplate, "{kind: DeviceClass, metadata: {name: g}}", kPod}).value();
  EXPECT_EQ(asked.subject, "Pod ns/p");
  EXPECT_THAT(asked.question.claims, SizeIs(1));
  EXPECT_TRUE(picture_.classes.contains("g"));
}

TEST_F(PodQuestionTest, OfAWorkloadThePodIsAskedForThatItWouldMake) {
  const PodQuestion asked = OfManifest({kTemplate, R"({kind: Job, metadata: {name: train}, spec:
      {template: {spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]}}}})"})
                                .value();
  EXPECT_EQ(asked.subject, "Pod ns/train");
  EXPECT_THAT(asked.question.claims, SizeIs(1));
}

TEST_F(PodQuestionTest, ATemplateAloneIsAskedForAsAClaim) {
  const PodQuestion asked = OfManifest({kTemplate}).value();
  EXPECT_EQ(asked.subject, "claim ns/one");
  EXPECT_THAT(asked.question.claims, SizeIs(1));
}

TEST_F(PodQuestionTest, OfACronJobThePodOfItsJobIsAskedFor) {
  const PodQuestion asked =
      OfManifest({kTemplate, R"({kind: CronJob, metadata: {name: nightly}, spec: {jobTemplate:
          {spec: {template: {spec: {nodeName: n}}}}}})"})
          .value();
  EXPECT_EQ(asked.subject, "Pod ns/nightly");
  EXPECT_EQ(asked.placed_on, "n");
}

TEST_F(PodQuestionTest, AListIsWhatItHas) {
  const auto objects =
      ManifestObjects({FromYaml("{kind: List, items: [{kind: Pod}, {kind: Job}]}")});
  ASSERT_TRUE(objects.ok());
  EXPECT_EQ(objects->size(), 2U);
  EXPECT_EQ((*objects)[1]["kind"].AsString(), "Job");
}

TEST_F(PodQuestionTest, WhatIsNoObjectIsRefused) {
  for (const char* yaml : {"hello", "[1, 2]", "{kind: Pod, metadata: 5}",
                           "{kind: Pod, spec: hello}", "{kind: List, items: [7]}"}) {
    EXPECT_EQ(ManifestObjects({FromYaml(yaml)}).status().code(), Code::kInvalidArgument) << yaml;
  }
}

TEST_F(PodQuestionTest, AManifestOfOtherThingsIsRefused) {
  EXPECT_EQ(OfManifest({"{kind: Service, metadata: {name: s}}"}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::cli
