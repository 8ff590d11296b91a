#include "cluster_sim/allocation/extended_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"

namespace galen::cluster_sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

class ExtendedResourcesTest : public ::testing::Test {
 protected:
  ExtendedResourcesTest() {
    Json cards = api_sim::FakeClass("cards", "gpu");
    cards["spec"]["extendedResourceName"] = "example.com/card";
    classes_ = api_sim::ByName({api_sim::FakeClass("aaa", "other"), cards});
  }

  ExtendedRequests Read(std::string_view spec) {
    Json pod = api_sim::FakePod("p");
    pod["spec"] = api_sim::Yaml(spec);
    return ReadExtendedRequests(pod, node_, classes_);
  }
  // "container-0-request-0: 2 of cards"
  static Lines Requests(const ExtendedRequests& extended) {
    Lines lines;
    for (const Json& request : extended.requests.items()) {
      lines.push_back(request["name"].AsString() + ": " +
                      std::to_string(request["exactly"]["count"].AsInt()) + " of " +
                      request["exactly"]["deviceClassName"].AsString());
    }
    return lines;
  }
  // "main container-0-request-0"
  static Lines Mappings(const ExtendedRequests& extended) {
    Lines lines;
    for (const Json& mapping : extended.mappings.items()) {
      EXPECT_EQ(mapping["resourceName"].AsString(), "example.com/card");
      lines.push_back(mapping["containerName"].AsString() + " " +
                      mapping["requestName"].AsString());
    }
    return lines;
  }

  Json node_ = api_sim::FakeNode("node-1");
  std::map<ObjectKey, Json> classes_;
};

TEST_F(ExtendedResourcesTest, AreRequestsOfTheClassThatOffersThem) {
  const auto extended = Read(
      "{containers: [{name: main, resources: {requests: {cpu: 1, example.com/card: '2', "
      "zzz.com/none: 1}}}]}");
  EXPECT_THAT(Requests(extended), ElementsAre("container-0-request-1: 2 of cards"));
  EXPECT_THAT(Mappings(extended), ElementsAre("main container-0-request-1"));
}

TEST_F(ExtendedResourcesTest, EachClassHasANameOfItsOwnToo) {
  const auto extended = Read(
      "{containers: [{name: main, resources: {requests: "
      "{deviceclass.resource.kubernetes.io/aaa: 1}}}]}");
  EXPECT_THAT(Requests(extended), ElementsAre("container-0-request-0: 1 of aaa"));
}

TEST_F(ExtendedResourcesTest, OfTwoClassesThatOfferThemTheOneMadeLastIsTaken) {
  const auto made = [](const char* name, const char* when) {
    Json device_class = api_sim::FakeClass(name, "gpu");
    device_class["spec"]["extendedResourceName"] = "example.com/card";
    device_class["metadata"]["creationTimestamp"] = when;
    return device_class;
  };
  const auto asks = [this] {
    return Requests(
        Read("{containers: [{name: main, resources: {requests: {example.com/card: 1}}}]}"));
  };
  classes_ = api_sim::ByName({made("a", "2026-11-21T14:00:00Z"), made("b", "2026-11-21T14:00:01Z"),
                              made("c", "2026-11-21T13:00:00Z")});
  EXPECT_THAT(asks(), ElementsAre("container-0-request-0: 1 of b"));
  // Times have whole seconds, so both may be of one.
  classes_ =
      api_sim::ByName({made("d", "2026-11-21T14:00:01Z"), made("b", "2026-11-21T14:00:01Z")});
  EXPECT_THAT(asks(), ElementsAre("container-0-request-0: 1 of b"));
}

TEST_F(ExtendedResourcesTest, ANodeThatOffersTheResourceItselfNeedsNoClaim) {
  node_["status"]["allocatable"]["example.com/card"] = "4";
  const auto extended =
      Read("{containers: [{name: main, resources: {requests: {example.com/card: 1}}}]}");
  EXPECT_TRUE(extended.empty());
  EXPECT_THAT(Mappings(extended), IsEmpty());
}

TEST_F(ExtendedResourcesTest, NoneAndAHalfAskForNothing) {
  EXPECT_TRUE(Read("{containers: [{name: a, resources: {requests: {example.com/card: 0}}}, "
                   "{name: b, resources: {requests: {example.com/card: 500m}}}]}")
                  .empty());
}

TEST_F(ExtendedResourcesTest, AnInitContainerUsesWhatALaterOneWillHave) {
  const auto extended = Read(
      "{initContainers: [{name: early, resources: {requests: {example.com/card: 1}}}], "
      "containers: [{name: main, resources: {requests: {example.com/card: 2}}}]}");
  EXPECT_THAT(Requests(extended), ElementsAre("container-1-request-0: 2 of cards"));
  EXPECT_THAT(Mappings(extended),
              ElementsAre("main container-1-request-0", "early container-1-request-0"));
}

TEST_F(ExtendedResourcesTest, InitContainersThatNeedMoreShareTheLargestRequestOfTheirs) {
  const auto extended = Read(
      "{initContainers: [{name: a, resources: {requests: {example.com/card: 2}}}, "
      "{name: b, resources: {requests: {example.com/card: 4}}}], "
      "containers: [{name: main, resources: {requests: {example.com/card: 1}}}]}");
  EXPECT_THAT(Requests(extended), ElementsAre("container-1-request-0: 3 of cards",
                                              "container-2-request-0: 1 of cards"));
  EXPECT_THAT(
      Mappings(extended),
      ElementsAre("main container-2-request-0", "a container-2-request-0",
                  "a container-1-request-0", "b container-2-request-0", "b container-1-request-0"));
}

TEST_F(ExtendedResourcesTest, ASidecarKeepsWhatItHas) {
  const auto extended = Read(
      "{initContainers: [{name: beside, restartPolicy: Always, resources: {requests: "
      "{example.com/card: 1}}}, {name: early, resources: {requests: {example.com/card: 1}}}], "
      "containers: [{name: main}]}");
  EXPECT_THAT(Mappings(extended),
              ElementsAre("beside container-0-request-0", "early container-1-request-0"))
      << "it began before the other, and does not end";
}

TEST_F(ExtendedResourcesTest, AClaimIsOfThePodThatItWasMadeFor) {
  const Json pod = api_sim::FakePod("p");
  const Json claim = MakeExtendedClaim(pod, api_sim::Yaml("[{name: r}]"));
  EXPECT_EQ(claim["metadata"]["generateName"].AsString(), "p-extended-resources-");
  EXPECT_TRUE(IsExtendedClaimOf(claim, pod));
  Json next = pod;
  next["metadata"]["uid"] = "another";
  EXPECT_FALSE(IsExtendedClaimOf(claim, next));
  Json plain = claim;
  plain["metadata"].Erase("annotations");
  EXPECT_FALSE(IsExtendedClaimOf(plain, pod));
}

}  // namespace
}  // namespace galen::cluster_sim
