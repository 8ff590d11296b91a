// Containers that are put into a Pod that runs, as `kubectl debug` does. They hold no devices, so a
// Pod's health is not in their status.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

std::string PathOf(const Namespace& ns) { return ns.Pod("a") + "/ephemeralcontainers"; }

// As `kubectl debug` adds one.
Reply Add(const Namespace& ns, std::string_view container) {
  Json patch;
  patch["spec"]["ephemeralContainers"] = Json::MakeArray({ToJson(container)});
  return TheApi().Patch(PathOf(ns), kStrategicPatch, patch.Dump());
}

constexpr std::string_view kDebugger =
    R"({"name": "debug", "image": "localhost/none", "targetContainerName": "main"})";

std::string FieldOfReply(const Reply& reply) {
  return reply.body["details"]["causes"][0]["field"].AsString();
}

TEST(EphemeralContainer, IsAddedByASubresourceOfItsOwn) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakePod("a")).code, 201);
  const Reply reply = Add(ns, kDebugger);
  ASSERT_EQ(reply.code, 200) << reply.text;
  const Json& debug = reply.body["spec"]["ephemeralContainers"][0];
  EXPECT_EQ(debug["name"].AsString(), "debug");
  EXPECT_EQ(debug["terminationMessagePolicy"].AsString(), "File") << "a default of containers";
  ASSERT_EQ(Add(ns, R"({"name": "second", "image": "localhost/none"})").code, 200);
  const Reply read = TheApi().Get(PathOf(ns));
  ASSERT_EQ(read.code, 200);
  EXPECT_EQ(read.body["spec"]["ephemeralContainers"].items().size(), 2u);
}

TEST(EphemeralContainer, IsAllThatItsSubresourceWrites) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakePod("a")).code, 201);
  Json patch;
  patch["spec"]["hostNetwork"] = true;
  patch["spec"]["ephemeralContainers"] = Json::MakeArray({ToJson(kDebugger)});
  patch["metadata"]["labels"]["a"] = "b";
  patch["status"]["phase"] = "Failed";
  ASSERT_EQ(TheApi().Patch(PathOf(ns), kMergePatch, patch.Dump()).code, 200);
  const Json pod = TheApi().Get(ns.Pod("a")).body;
  EXPECT_EQ(pod["spec"]["ephemeralContainers"].items().size(), 1u);
  EXPECT_FALSE(pod["spec"]["hostNetwork"].AsBool());
  EXPECT_FALSE(pod["metadata"]["labels"].Has("a"));
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Pending");
}

TEST(EphemeralContainer, NeitherGoesNorChanges) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakePod("a")).code, 201);
  ASSERT_EQ(Add(ns, kDebugger).code, 200);
  EXPECT_EQ(TheApi()
                .Patch(PathOf(ns), kMergePatch, R"({"spec": {"ephemeralContainers": [
                    {"name": "other", "image": "localhost/none"}]}})")
                .code,
            422);
  EXPECT_EQ(Add(ns, R"({"name": "debug", "image": "localhost/another"})").code, 422);
  EXPECT_EQ(TheApi()
                .Patch(ns.Pod("a"), kMergePatch, R"({"spec": {"ephemeralContainers": [
                    {"name": "debug", "image": "localhost/none"},
                    {"name": "more", "image": "localhost/none"}]}})")
                .code,
            422)
      << "not through the Pod itself";
}

TEST(EphemeralContainer, IsNotThereWhenThePodIsMade) {
  const Namespace ns;
  Json pod = MakePod("a");
  pod["spec"]["ephemeralContainers"] = Json::MakeArray({ToJson(kDebugger)});
  const Reply reply = TheApi().Post(ns.Pods(), pod);
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(FieldOfReply(reply), "spec.ephemeralContainers");
}

TEST(EphemeralContainer, HoldsNoClaimsAndNoResources) {
  const Namespace ns;
  Json pod = MakePod("a");
  pod["spec"]["resourceClaims"] = ToJson(R"([{"name": "gpu", "resourceClaimName": "g"}])");
  ASSERT_EQ(TheApi().Post(ns.Pods(), pod).code, 201);
  for (const char* resources :
       {R"({"claims": [{"name": "gpu"}]})", R"({"limits": {"vendor.com/nic": "1"}})"}) {
    Json container = ToJson(kDebugger);
    container["resources"] = ToJson(resources);
    const Reply reply = Add(ns, container.Dump());
    EXPECT_EQ(reply.code, 422) << resources;
    EXPECT_EQ(FieldOfReply(reply), "spec.ephemeralContainers[0].resources");
  }
}

TEST(EphemeralContainer, HasANameOfItsOwnAndATargetThatStays) {
  const Namespace ns;
  ASSERT_EQ(TheApi().Post(ns.Pods(), MakePod("a")).code, 201);
  const Reply taken = Add(ns, R"({"name": "main", "image": "localhost/none"})");
  EXPECT_EQ(taken.code, 422);
  EXPECT_EQ(FieldOfReply(taken), "spec.ephemeralContainers[0].name");
  const Reply missing =
      Add(ns, R"({"name": "d", "image": "localhost/none", "targetContainerName": "nobody"})");
  EXPECT_EQ(missing.code, 422);
  EXPECT_EQ(FieldOfReply(missing), "spec.ephemeralContainers[0].targetContainerName");
}

}  // namespace
}  // namespace galen::contract
