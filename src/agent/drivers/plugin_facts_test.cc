#include "agent/drivers/plugin_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using ::testing::HasSubstr;

const std::string kSocket = "/var/lib/kubelet/plugins_registry/gpu-reg.sock";
const std::string kEndpoint = "/var/lib/kubelet/plugins/gpu.example.com/dra.sock";

PluginAnswer Answer(std::vector<std::string> versions = {"v1.DRAPlugin"}) {
  return {"DRAPlugin", "gpu.example.com", kEndpoint, std::move(versions)};
}

PluginRules Rules() {
  return {.kubelet_root = "/var/lib/kubelet",
          .real_path = [](const std::string& path) { return StatusOr(path); }};
}

StatusOr<PluginFacts> Judge(const PluginAnswer& answer) {
  return JudgePlugin(answer, kSocket, Rules());
}

std::string WhyNot(const PluginAnswer& answer) { return Judge(answer).status().message(); }

TEST(PluginFacts, ADriverWithOurVersionsIsTaken) {
  const StatusOr<PluginFacts> facts = Judge(Answer());
  ASSERT_TRUE(facts.ok()) << ToString(facts.status());
  EXPECT_EQ(*facts,
            (PluginFacts{"gpu.example.com", kEndpoint, DraService::kV1, HealthService::kNone}));
}

TEST(PluginFacts, AHealthSourceNeedsHealthAndNoClaims) {
  PluginRules rules = Rules();
  rules.health_sources = true;
  PluginAnswer answer = Answer({"v1.DRAResourceHealth"});
  EXPECT_EQ(JudgePlugin(answer, kSocket, rules)->health, HealthService::kV1);
  EXPECT_FALSE(Judge(answer).ok()) << "a driver without claims is none";
  answer.versions = {"v1.DRAPlugin"};
  EXPECT_FALSE(JudgePlugin(answer, kSocket, rules).ok());
}

TEST(PluginFacts, AHealthSourceMayBeForAResourceAndADriverMayNot) {
  PluginRules rules = Rules();
  rules.health_sources = true;
  PluginAnswer answer = Answer({"v1.DRAResourceHealth"});
  answer.name = "nvidia.com/gpu";
  EXPECT_EQ(JudgePlugin(answer, kSocket, rules)->driver, "nvidia.com/gpu");
  answer.versions = {"v1.DRAPlugin", "v1.DRAResourceHealth"};
  EXPECT_FALSE(Judge(answer).ok());
  answer.name = "nvidia.com/gpu/0";
  EXPECT_FALSE(JudgePlugin(answer, kSocket, rules).ok());
}

TEST(PluginFacts, ThePluginsOrderDecidesItsService) {
  EXPECT_EQ(Judge(Answer({"v1beta1.DRAPlugin", "v1.DRAPlugin"}))->service, DraService::kV1Beta1);
  EXPECT_EQ(Judge(Answer({"v9.DRAPlugin", "v1.DRAPlugin"}))->service, DraService::kV1);
}

TEST(PluginFacts, OurOrderDecidesItsHealth) {
  EXPECT_EQ(
      Judge(Answer({"v1.DRAPlugin", "v1alpha1.DRAResourceHealth", "v1.DRAResourceHealth"}))->health,
      HealthService::kV1);
  EXPECT_EQ(Judge(Answer({"v1.DRAPlugin", "v1alpha1.DRAResourceHealth"}))->health,
            HealthService::kV1Alpha1);
}

TEST(PluginFacts, NoServiceOfOursIsAFaultThatNamesBoth) {
  EXPECT_THAT(WhyNot(Answer({"v9.DRAPlugin"})), HasSubstr("v9.DRAPlugin"));
  EXPECT_THAT(WhyNot(Answer({"v9.DRAPlugin"})), HasSubstr("v1beta1.DRAPlugin"));
  EXPECT_FALSE(Judge(Answer({})).ok());
}

TEST(PluginFacts, AnEmptyEndpointIsTheRegistrationSocket) {
  PluginAnswer answer = Answer();
  answer.endpoint = "";
  EXPECT_EQ(Judge(answer)->endpoint, kSocket);
}

TEST(PluginFacts, NamesThatKubernetesWouldNotTakeAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("GPU"), std::string("a b"), std::string(64, 'a')}) {
    PluginAnswer answer = Answer();
    answer.name = name;
    EXPECT_EQ(Judge(answer).status().code(), Code::kInvalidArgument) << name;
  }
}

TEST(PluginFacts, EndpointsThatLeadElsewhereAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"plugins/dra.sock", "absolute"},
      {"/var/lib/kubelet/" + std::string(100, 'a'), "at most 107"},
      {"/run/docker.sock", "not inside /var/lib/kubelet"},
      {"/var/lib/kubelet/../../../run/docker.sock", "not inside"},
      {"/var/lib/kubelet-evil/dra.sock", "not inside"},
      {"/var/lib/kubelet/a\x1b[31m.sock", "characters"},
  };
  for (const auto& [endpoint, why] : cases) {
    PluginAnswer answer = Answer();
    answer.endpoint = endpoint;
    EXPECT_THAT(WhyNot(answer), HasSubstr(why)) << endpoint;
  }
}

TEST(PluginFacts, ASymlinkedDirectoryDoesNotLeadOut) {
  PluginRules rules = Rules();
  rules.real_path = [](const std::string& path) {
    return StatusOr(path == "/var/lib/kubelet/plugins/gpu.example.com" ? std::string("/run")
                                                                       : path);
  };
  EXPECT_THAT(JudgePlugin(Answer(), kSocket, rules).status().message(), HasSubstr("leads to /run"));
}

TEST(PluginFacts, AKubeletRootThatIsItselfASymlinkIsFine) {
  PluginRules rules = Rules();
  rules.real_path = [](const std::string& path) { return StatusOr("/mnt/data" + path); };
  EXPECT_TRUE(JudgePlugin(Answer(), kSocket, rules).ok());
}

TEST(PluginFacts, EndpointsMayLieAnywhereWhenTheOperatorSaysSo) {
  PluginRules rules = Rules();
  rules.kubelet_root = "";
  PluginAnswer answer = Answer();
  answer.endpoint = "/opt/driver.sock";
  EXPECT_TRUE(JudgePlugin(answer, kSocket, rules).ok());
}

}  // namespace
}  // namespace galen::agent
