// What a Pod's status may say of the claims that were made for it: those of its templates, and the
// one of its extended resources (KEP-5004).
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

constexpr const char* kClaimStatuses = "status.resourceClaimStatuses";

// A Pod with a claim from a template; its container asks for vendor.com/nic, its init container for
// none of it.
Json MakeAskingPod() {
  Json pod = MakePod("a");
  pod["spec"]["resourceClaims"] = ToJson(R"([{"name": "gpu", "resourceClaimTemplateName": "t"}])");
  pod["spec"]["containers"].MutableItems()[0]["resources"] =
      ToJson(R"({"limits": {"vendor.com/nic": "2"}})");
  pod["spec"]["initContainers"] = ToJson(R"([{"name": "early", "image": "localhost/none",
      "resources": {"limits": {"vendor.com/nic": "0"}}}])");
  return pod;
}

Reply Say(const Namespace& ns, const char* field, std::string_view value) {
  Json patch;
  patch["status"][field] = ToJson(value);
  return TheApi().Patch(ns.Pod("a") + "/status", kMergePatch, patch.Dump());
}

std::vector<std::string> FieldsOf(const Reply& reply) {
  std::vector<std::string> fields;
  for (const Json& cause : reply.body["details"]["causes"].items()) {
    fields.push_back(cause["field"].AsString());
  }
  return fields;
}

bool Blames(const Reply& reply, const std::string& field) {
  for (const std::string& each : FieldsOf(reply)) {
    if (each == field) return true;
  }
  return false;
}

TEST(PodClaims, AreNamedByEntriesOfTheSpec) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakeAskingPod()).code, 201);
  EXPECT_EQ(Say(ns, "resourceClaimStatuses", R"([{"name": "gpu"}])").code, 200)
      << "no claim is needed";
  EXPECT_EQ(
      Say(ns, "resourceClaimStatuses", R"([{"name": "gpu", "resourceClaimName": "a-gpu"}])").code,
      200);
  const Reply other =
      Say(ns, "resourceClaimStatuses", R"([{"name": "nic", "resourceClaimName": "a-nic"}])");
  EXPECT_EQ(other.code, 422);
  EXPECT_TRUE(Blames(other, std::string(kClaimStatuses) + "[0].name")) << other.text;
  const Reply odd =
      Say(ns, "resourceClaimStatuses", R"([{"name": "gpu", "resourceClaimName": "A_B"}])");
  EXPECT_EQ(odd.code, 422);
  // Older servers blame the neighbour.
  const char* field = IsBefore(37) ? "[0].name" : "[0].resourceClaimName";
  EXPECT_TRUE(Blames(odd, kClaimStatuses + std::string(field))) << odd.text;
}

TEST(PodClaims, OfAnExtendedResourceAreMappedToContainersThatAskForIt) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakeAskingPod()).code, 201);
  const auto say = [&ns](std::string_view value) {
    return Say(ns, "extendedResourceClaimStatus", value);
  };
  const std::string at = "status.extendedResourceClaimStatus";
  const Reply good = say(R"({"resourceClaimName": "a-extended", "requestMappings": [
      {"containerName": "main", "resourceName": "vendor.com/nic", "requestName": "r-0"},
      {"containerName": "main", "resourceName": "vendor.com/nic", "requestName": "r-1"},
      {"containerName": "early", "resourceName": "vendor.com/nic", "requestName": "r-0"}]})");
  ASSERT_EQ(good.code, 200) << good.text;
  if (IsBefore(37)) {
    EXPECT_FALSE(good.body["status"].Has("extendedResourceClaimStatus")) << "its gate is off";
    return;
  }
  const std::pair<const char*, std::string> faults[] = {
      {R"({"resourceClaimName": "a-extended"})", ".requestMappings"},
      {R"({"resourceClaimName": null, "requestMappings": [
          {"containerName": "main", "resourceName": "vendor.com/nic", "requestName": "r-0"}]})",
       ".resourceClaimName"},
      {R"({"requestMappings": [
          {"containerName": "debug", "resourceName": "vendor.com/nic", "requestName": "r-0"}]})",
       ".requestMappings[0].containerName"},
      {R"({"requestMappings": [
          {"containerName": "main", "resourceName": "vendor.com/gpu", "requestName": "r-0"}]})",
       ".requestMappings[0].resourceName"},
      {R"({"requestMappings": [
          {"containerName": "main", "resourceName": "vendor.com/nic", "requestName": "r/0"}]})",
       ".requestName"},
      {R"({"requestMappings": [
          {"containerName": "main", "resourceName": "vendor.com/nic", "requestName": "r-0"},
          {"containerName": "main", "resourceName": "vendor.com/nic", "requestName": "r-0"}]})",
       ".requestMappings[1].containerName"}};
  for (const auto& [value, field] : faults) {
    // A merge patch would leave the good mappings where this one names none.
    Json patch;
    patch["status"]["extendedResourceClaimStatus"] = ToJson(value);
    if (!patch["status"]["extendedResourceClaimStatus"].Has("requestMappings")) {
      patch["status"]["extendedResourceClaimStatus"]["requestMappings"] = Json();
    }
    const Reply reply = TheApi().Patch(ns.Pod("a") + "/status", kMergePatch, patch.Dump());
    EXPECT_EQ(reply.code, 422) << value;
    EXPECT_TRUE(Blames(reply, at + field)) << field << " in " << reply.text;
  }
}

TEST(PodClaims, OfAnExtendedResourceShowHealthOfContainersThatAskForSome) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakeAskingPod()).code, 201);
  ASSERT_EQ(Say(ns, "extendedResourceClaimStatus",
                R"({"resourceClaimName": "a-extended", "requestMappings": [
      {"containerName": "main", "resourceName": "vendor.com/nic", "requestName": "r-0"},
      {"containerName": "early", "resourceName": "vendor.com/nic", "requestName": "r-0"}]})")
                .code,
            200);
  const auto report = [&ns](const char* list, const char* container) {
    Json status = ToJson(R"({"ready": true, "restartCount": 0, "image": "i", "imageID": "",
        "allocatedResourcesStatus": [{"name": "claim:a-extended/r-0", "resources": [
            {"resourceID": "x", "health": "Healthy"}]}]})");
    status["name"] = container;
    Json patch;
    patch["status"][list] = Json::MakeArray({status});
    return TheApi().Patch(ns.Pod("a") + "/status", kMergePatch, patch.Dump()).code;
  };
  EXPECT_EQ(report("containerStatuses", "main"), IsBefore(37) ? 422 : 200);
  EXPECT_EQ(report("initContainerStatuses", "early"), 422) << "it asks for 0";
}

}  // namespace
}  // namespace galen::contract
