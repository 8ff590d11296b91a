#include "api_sim/objects/refusal.h"

#include <gtest/gtest.h>

namespace galen::api_sim {
namespace {

const Subject kClaim{"resource.k8s.io", "resourceclaims", "ResourceClaim", "gpu"};
const Subject kRefusedPod{"", "pods", "Pod", "train"};

TEST(Refusal, IsAStatusObjectWithCodeReasonAndDetails) {
  const Json status = ToStatusObject(NotFoundRefusal(kClaim));
  EXPECT_EQ(status["kind"].AsString(), "Status");
  EXPECT_EQ(status["apiVersion"].AsString(), "v1");
  EXPECT_EQ(status["status"].AsString(), "Failure");
  EXPECT_EQ(status["reason"].AsString(), "NotFound");
  EXPECT_EQ(status["code"].AsInt(), 404);
  EXPECT_EQ(status["message"].AsString(), "resourceclaims.resource.k8s.io \"gpu\" not found");
  EXPECT_EQ(status["details"]["name"].AsString(), "gpu");
  EXPECT_EQ(status["details"]["group"].AsString(), "resource.k8s.io");
  EXPECT_EQ(status["details"]["kind"].AsString(), "resourceclaims");
}

TEST(Refusal, OfTheCoreGroupNamesNoGroup) {
  const Json status = ToStatusObject(AlreadyExistsRefusal(kRefusedPod));
  EXPECT_EQ(status["message"].AsString(), "pods \"train\" already exists");
  EXPECT_FALSE(status["details"].Has("group"));
}

TEST(Refusal, OneFaultIsSaidPlainAndSeveralInBrackets) {
  const Fault missing = RequiredFault("spec.containers");
  const Fault bad = InvalidFault("metadata.name", "A_B", "no upper case");
  EXPECT_EQ(InvalidRefusal(kRefusedPod, {missing}).message,
            "Pod \"train\" is invalid: spec.containers: Required value");
  const Refusal both = InvalidRefusal(kRefusedPod, {missing, bad});
  EXPECT_EQ(both.message,
            "Pod \"train\" is invalid: [spec.containers: Required value, "
            "metadata.name: Invalid value: \"A_B\": no upper case]");
  ASSERT_EQ(both.details["causes"].items().size(), 2u);
  EXPECT_EQ(both.details["causes"][0]["reason"].AsString(), "FieldValueRequired");
  EXPECT_EQ(both.details["causes"][1]["field"].AsString(), "metadata.name");
  EXPECT_EQ(both.details["kind"].AsString(), "Pod");
}

TEST(Refusal, ListsWhatWouldHaveBeenSupported) {
  EXPECT_EQ(NotSupportedFault("health", "Bad", {"Healthy", "Unhealthy"}).message,
            "Unsupported value: \"Bad\": supported values: \"Healthy\", \"Unhealthy\"");
}

TEST(Refusal, CutsAHugeValueShort) {
  EXPECT_LT(InvalidFault("f", std::string(5000, 'x'), "too big").message.size(), 300u);
}

}  // namespace
}  // namespace galen::api_sim
