// Tested by every_pod_test.cc.
#include "agent/app/fake_pod_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "api_sim/objects/fake_objects.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using api_sim::FakeClaim;
using api_sim::Yaml;
using ::testing::StartsWith;

constexpr const char* kClass = "gpu.example.com";

// Its first CDI id. Not a constant: kinds are asked for while constants of other files are made.
std::string Gpu0() { return "gpu.example.com/gpu=gpu-0"; }

PodKind Container() {
  return {.name = "container",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakeHolder("p", "mine");
              },
          .main = {"main claim:gpu " + Gpu0()}};
}

PodKind OneRequest() {
  return {.name = "container that names one request of a claim",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakePod("p",
                          "{containers: [{name: main, image: pause, resources: {claims: [{name: "
                          "gpu, request: gpu}]}}], resourceClaims: [{name: gpu, "
                          "resourceClaimName: mine}]}");
              },
          .main = {"main claim:gpu/gpu " + Gpu0()}};
}

PodKind InitContainer() {
  return {.name = "init container",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakePod("p",
                          "{containers: [{name: main, image: pause}], initContainers: [{name: "
                          "early, image: pause, resources: {claims: [{name: gpu}]}}], "
                          "resourceClaims: [{name: gpu, resourceClaimName: mine}]}");
              },
          .init = {"early claim:gpu " + Gpu0()},
          .used_by = {"p early mine"}};
}

PodKind Sidecar() {
  return {.name = "sidecar",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakePod("p",
                          "{containers: [{name: main, image: pause}], initContainers: [{name: "
                          "beside, image: pause, restartPolicy: Always, resources: {claims: "
                          "[{name: gpu, request: gpu}]}}], "
                          "resourceClaims: [{name: gpu, resourceClaimName: mine}]}");
              },
          .init = {"beside claim:gpu/gpu " + Gpu0()},
          .used_by = {"p beside mine"}};
}

// It holds no device itself, and must not prevent the Pod's devices from being shown.
PodKind EphemeralContainer() {
  return {.name = "ephemeral container",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakeHolder("p", "mine");
                s.node.Pass(3s);
                s.Patch(kube::kPods, "p",
                        Yaml("{spec: {ephemeralContainers: [{name: debug, image: busybox, "
                             "targetContainerName: main}]}}"),
                        "ephemeralcontainers");
              },
          .main = {"main claim:gpu " + Gpu0()}};
}

PodKind NoContainer() {
  return {.name = "claim that no container references",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakePod("p",
                          "{containers: [{name: main, image: pause}], "
                          "resourceClaims: [{name: gpu, resourceClaimName: mine}]}");
              },
          .used_by = {"p - mine"}};
}

PodKind FromTemplate() {
  return {.name = "claim from a template",
          .make = [](PodScene& s) { s.node.AddPod("p"); },
          .main = {"main claim:gpu " + Gpu0()},
          .used_by = {"p main p-gpu-…"}};
}

PodKind SharedAndRenamed() {
  return {.name = "shared claim, by names of each Pod's own",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakeHolder("q", "mine");
                s.MakePod("p",
                          "{containers: [{name: main, image: pause, resources: {claims: [{name: "
                          "card}]}}], resourceClaims: [{name: card, resourceClaimName: mine}]}");
              },
          .main = {"main claim:card " + Gpu0()},
          .used_by = {"p main mine", "q main mine"},
          .others = {"q"}};
}

// KEP-5004: the scheduler makes the claim, and its request serves an init container as well, which
// has ended before the other begins.
PodKind ExtendedResource() {
  return {.name = "extended resource backed by DRA",
          .make =
              [](PodScene& s) {
                Json cards = api_sim::FakeClass("cards", kClass);
                cards["spec"]["extendedResourceName"] = "example.com/card";
                s.node.cluster.Create(kube::kDeviceClasses, cards);
                s.MakePod("p",
                          "{containers: [{name: main, image: pause, resources: {limits: "
                          "{example.com/card: 1}}}], initContainers: [{name: early, image: pause, "
                          "resources: {limits: {example.com/card: 1}}}]}");
              },
          .main = {"main claim:p-extended-resources-…/container-1-request-0 " + Gpu0()},
          .init = {"early claim:p-extended-resources-…/container-1-request-0 " + Gpu0()},
          .used_by = {"p early p-extended-resources-…", "p main p-extended-resources-…"}};
}

PodKind PrioritizedList() {
  return {.name = "prioritized list",
          .make =
              [](PodScene& s) {
                Json claim = FakeClaim("mine", kClass);
                claim["spec"]["devices"]["requests"] = Yaml(
                    "[{name: any, firstAvailable: [{name: many, deviceClassName: "
                    "gpu.example.com, count: 9}, {name: one, deviceClassName: "
                    "gpu.example.com, count: 1}]}]");
                s.node.cluster.Create(kube::kResourceClaims, claim);
                s.MakePod("p",
                          "{containers: [{name: main, image: pause, resources: {claims: [{name: "
                          "gpu, request: any}]}}], resourceClaims: [{name: gpu, "
                          "resourceClaimName: mine}]}");
              },
          .main = {"main claim:gpu/any " + Gpu0()}};
}

PodKind Share() {
  return {.name = "share of a device (consumable capacity)",
          .make =
              [](PodScene& s) {
                for (const auto& [pod, claim, share] :
                     {std::tuple("p", "mine", "s1"), std::tuple("q", "theirs", "s2")}) {
                  s.MakeClaim(claim);
                  s.MakeHolder(pod, claim, true);
                  s.gpus.PrepareShare(claim, share);
                  s.Allocate(claim, std::string("{request: gpu, shareID: ") + share + "}",
                             s.Consumer(pod));
                  s.Bind(pod);
                }
              },
          .main = {"main claim:gpu " + Gpu0() + "-s1"},
          .used_by = {"p main mine", "q main theirs"},
          .others = {"q"}};
}

PodKind AdminAccess() {
  return {.name = "admin access",
          .make =
              [](PodScene& s) {
                s.MakeClaim("theirs");
                s.MakeHolder("q", "theirs");
                s.node.Pass(2s);
                Json claim = FakeClaim("mine", kClass);
                claim["spec"]["devices"]["requests"].MutableItems()[0]["exactly"]["adminAccess"] =
                    true;
                s.node.cluster.Create(kube::kResourceClaims, claim);
                s.MakeHolder("p", "mine");
              },
          .main = {"main claim:gpu " + Gpu0()},
          .used_by = {"p main mine", "q main theirs"},
          .others = {"q"}};
}

PodKind SeveralDrivers() {
  return {.name = "claim of several drivers",
          .make =
              [](PodScene& s) {
                s.node.AddDriver(
                    {"nic-0"},
                    {.driver = "nic.example.com",
                     .socket = "/var/lib/kubelet/plugins_registry/nic.example.com-reg.sock",
                     .endpoint = "/var/lib/kubelet/plugins/nic.example.com/dra.sock"});
                Json claim = FakeClaim("mine", kClass);
                Json nic = FakeClaim("", "nic.example.com")["spec"]["devices"]["requests"][0];
                nic["name"] = "nic";
                claim["spec"]["devices"]["requests"].Append(nic);
                s.node.cluster.Create(kube::kResourceClaims, claim);
                s.MakeHolder("p", "mine");
              },
          .main = {"main claim:gpu " + Gpu0(), "main claim:gpu nic.example.com/gpu=nic-0"},
          .tail = "; nic-0 Healthy"};
}

// KEP-5729: the claim lists the group and none of its Pods.
PodKind PodGroup() {
  return {.name = "claim reserved for a group of Pods",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakePod("p",
                          "{schedulingGroup: {podGroupName: gang}, containers: [{name: main, "
                          "image: pause, resources: {claims: [{name: gpu}]}}], "
                          "resourceClaims: [{name: gpu, resourceClaimName: mine}]}",
                          true);
                s.Allocate(
                    "mine", "{request: gpu}",
                    "{apiGroup: scheduling.k8s.io, resource: podgroups, name: gang, uid: g}");
                s.Bind("p");
              },
          .main = {"main claim:gpu " + Gpu0()}};
}

// The one before it held another device, which is lost: that is not this Pod's story.
PodKind OfTheSameName() {
  return {.name = "Pod of the same name made again",
          .make =
              [](PodScene& s) {
                s.MakeClaim("mine");
                s.MakeClaim("old");
                s.MakeHolder("q", "mine");
                s.node.Pass(2s);
                s.MakeHolder("p", "old");
                s.node.Pass(3s);
                s.gpus.Report({{.device = "gpu-0"},
                               {.device = "gpu-1", .health = 2, .message = "ECC", .code = "Ecc"}});
                s.node.Pass(2s);
                EXPECT_THAT(s.node.Annotation("p"), StartsWith("gpu-1 Unhealthy"));
                s.node.cluster.Delete(kube::kPods, "p", "default", 0);
                s.node.Pass(3s);
                s.MakeHolder("p", "mine");
              },
          .main = {"main claim:gpu " + Gpu0()},
          .used_by = {"p main mine", "q main mine"},
          .others = {"q"}};
}

}  // namespace

const std::vector<PodKind>& PodKinds() {
  static const std::vector<PodKind> kinds = {
      Container(),   OneRequest(),   InitContainer(),    Sidecar(),          EphemeralContainer(),
      NoContainer(), FromTemplate(), SharedAndRenamed(), ExtendedResource(), PrioritizedList(),
      Share(),       AdminAccess(),  SeveralDrivers(),   PodGroup(),         OfTheSameName()};
  return kinds;
}

PodScene::PodScene(Role role) : node(role), gpus(node.AddDriver({"gpu-0", "gpu-1"})) {
  node.DefineNodeDeviceHealth(GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml");
  node.StartAgent();
  node.Pass(2s);
}

void PodScene::MakeClaim(const std::string& name) {
  node.cluster.Create(kube::kResourceClaims, FakeClaim(name, kClass));
}

void PodScene::MakePod(const std::string& name, std::string_view spec, bool by_hand) {
  Json pod = api_sim::FakePod(name);
  pod["spec"] = Yaml(spec);
  if (by_hand) pod["spec"]["schedulerName"] = "nobody";
  node.CreatePod(pod);
}

void PodScene::MakeHolder(const std::string& name, const std::string& claim, bool by_hand) {
  MakePod(name,
          "{containers: [{name: main, image: pause, resources: {claims: [{name: gpu}]}}], "
          "resourceClaims: [{name: gpu, resourceClaimName: " +
              claim + "}]}",
          by_hand);
}

void PodScene::Allocate(const std::string& claim, std::string_view result,
                        std::string_view consumer) {
  Json of_device = Yaml(result);
  of_device["driver"] = kClass;
  of_device["pool"] = "node-1";
  of_device["device"] = "gpu-0";
  Json patch;
  patch["status"]["allocation"]["devices"]["results"] = Json::MakeArray({of_device});
  patch["status"]["reservedFor"] = Json::MakeArray({Yaml(consumer)});
  Patch(kube::kResourceClaims, claim, patch, "status");
}

std::string PodScene::Consumer(const std::string& pod) {
  const std::string uid = node.cluster.Pod(pod)["metadata"]["uid"].AsString();
  return "{resource: pods, name: " + pod + ", uid: " + uid + "}";
}

void PodScene::Bind(const std::string& pod) {
  Json binding =
      Yaml("{apiVersion: v1, kind: Binding, target: {apiVersion: v1, kind: Node, name: node-1}}");
  binding["metadata"]["name"] = pod;
  net::HttpRequest request = kube::Create(kube::kPods, "default", binding);
  request.path = kube::Get(kube::kPods, "default", pod).path + "/binding";
  const auto reply = node.cluster.Do(std::move(request));
  EXPECT_TRUE(reply.ok()) << reply.status().message();
}

void PodScene::Patch(const kube::Resource& resource, const std::string& name, const Json& patch,
                     const std::string& subresource) {
  const auto reply = node.cluster.Do(kube::Patch(resource, "default", name, kube::PatchType::kMerge,
                                                 patch, {.subresource = subresource}));
  EXPECT_TRUE(reply.ok()) << reply.status().message();
}

}  // namespace galen::agent
