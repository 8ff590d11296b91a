#include "doctor/probes/api_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Answer = kube::FakeTransport::Answer;

constexpr char kSlice[] = R"({"metadata": {"name": "s", "uid": "u"}, "spec": {"driver": "gpu",
  "nodeName": "node-7", "pool": {"name": "node-7", "generation": 1, "resourceSliceCount": 1},
  "devices": [{"name": "gpu-0"}]}})";
constexpr char kClaim[] = R"({"metadata": {"namespace": "t", "name": "c", "uid": "c1"}, "status": {
  "allocation": {"devices": {"results": [{"request": "r", "driver": "gpu", "pool": "node-7",
    "device": "gpu-0"}]}}, "reservedFor": [{"resource": "pods", "name": "gone", "uid": "p9"},
    {"resource": "pods", "name": "other", "uid": "p8"}]}})";
constexpr char kPod[] = R"({"metadata": {"namespace": "galen-system", "name": "a", "uid": "p1"},
  "spec": {"serviceAccountName": "galen-agent", "containers": [{"name": "galen-agent"}]}})";

// An API server whose answers go by the path; what is not named is NotFound.
struct Server {
  Server() {
    const net::Headers date = {{"date", "Sat, 21 Nov 2026 22:17:02 GMT"}};
    answers["/version"] = {.body = R"({"gitVersion": "v1.37.1"})", .headers = date};
    answers["/api/v1/nodes/node-7"] = {
        .body = R"({"status": {"nodeInfo": {"kubeletVersion": "v1.37.1"}}})"};
    answers["/apis/resource.k8s.io"] = {.body = R"({"versions": [{"version": "v1"}]})"};
    answers["/apis/galen.dev/v1alpha1"] = {.body = "{}"};
    answers["/metrics"] = {.body = "kubernetes_feature_enabled{name=\"A\"} 1\n"};
    answers["/api/v1/nodes/node-7/proxy/metrics"] = {
        .body =
            "kubernetes_feature_enabled{name=\"B\"} 0\n"
            "plugin_manager_total_plugins{socket_path=\"/k/a.sock\","
            "state=\"actual_state_of_world\"} 1\n"};
    answers["/api/v1/pods"] = List({kPod});
    answers["/apis/resource.k8s.io/v1/resourceslices"] = List({kSlice});
    answers["/apis/resource.k8s.io/v1/resourceclaims"] = List({kClaim});
    answers["/api/v1/nodes"] = List({R"({"metadata": {"name": "node-7", "uid": "n"}})"});
    answers["/api/v1/namespaces/t/pods/other"] = {.body = R"({"metadata": {"uid": "p8"}})"};
    answers["/apis/authorization.k8s.io/v1/subjectaccessreviews"] = {
        .body = R"({"status": {"allowed": true}})"};
    transport.AnswerBy([this](const net::HttpRequest& request) {
      const auto it = answers.find(request.path.substr(0, request.path.find('?')));
      if (it != answers.end()) return std::optional<Answer>(it->second);
      return std::optional<Answer>(
          {.status = 404, .body = R"({"kind": "Status", "message": "not found"})"});
    });
  }

  static Answer List(const std::vector<std::string>& items) {
    std::string body = R"({"metadata": {}, "items": [)";
    for (std::size_t i = 0; i < items.size(); ++i) body += (i == 0 ? "" : ",") + items[i];
    return {.body = body + "]}"};
  }

  void Ask(const ApiProbeOptions& options = {.node = "node-7"}) {
    bool done = false;
    ApiProbe probe(loop, transport, options, api, kubelet, [&] { done = true; });
    probe.Start();
    loop.Advance(60s);
    EXPECT_TRUE(done);
  }

  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    for (const net::HttpRequest& request : transport.requests()) paths.push_back(request.path);
    return paths;
  }

  FakeLoop loop;
  kube::FakeTransport transport{loop};
  std::map<std::string, Answer> answers;
  ApiSeen api;
  KubeletSeen kubelet;
};

TEST(ApiProbe, AServerThatDoesNotSendItsTimeIsNamedAsTheReason) {
  Server server;
  server.answers["/version"].headers = {};
  server.Ask();
  EXPECT_TRUE(server.api.version.ok());
  EXPECT_THAT(server.api.clock.status().message(), HasSubstr("header Date"));
}

TEST(ApiProbe, EverythingIsReadInOneRound) {
  Server server;
  server.Ask();
  EXPECT_EQ(server.api.version->minor, 37);
  EXPECT_TRUE(server.api.clock.ok());
  EXPECT_EQ(server.api.node->kubelet_version, "v1.37.1");
  EXPECT_EQ(server.api.lease.status().code(), Code::kNotFound);
  EXPECT_THAT(*server.api.dra_versions, ElementsAre("v1"));
  EXPECT_TRUE(server.api.gates->values.at("A"));
  EXPECT_FALSE(server.kubelet.gates->values.at("B"));
  EXPECT_TRUE(server.kubelet.plugins->at("/k/a.sock").registered);
  EXPECT_THAT(*server.api.pods, SizeIs(1));
  EXPECT_THAT(*server.api.slices, SizeIs(1));
  EXPECT_THAT(*server.api.all_slices, SizeIs(1));
  EXPECT_THAT(*server.api.nodes, ElementsAre("node-7"));
  EXPECT_TRUE(server.api.health_served.ok());
  EXPECT_EQ(server.api.health.status().code(), Code::kNotFound);
  EXPECT_THAT(server.Paths(), Contains(HasSubstr("/api/v1/pods?fieldSelector=spec.nodeName")));
}

TEST(ApiProbe, PodsThatAClaimIsReservedForAreLookedFor) {
  Server server;
  server.Ask();
  ASSERT_TRUE(server.api.claims.ok());
  EXPECT_TRUE((*server.api.claims)[0].here) << "by its pool";
  EXPECT_FALSE(*server.api.far_pods.at("p9"));
  EXPECT_TRUE(*server.api.far_pods.at("p8"));
  server.answers["/api/v1/namespaces/t/pods/other"] = {.body = R"({"metadata": {"uid": "new"}})"};
  server.Ask();
  EXPECT_FALSE(*server.api.far_pods.at("p8")) << "another Pod of that name";
}

TEST(ApiProbe, RightsAreThoseOfTheAgentsServiceAccount) {
  Server server;
  server.Ask();
  EXPECT_EQ(server.api.access_of, "service account galen-system/galen-agent");
  for (const AccessSeen& access : server.api.access) EXPECT_TRUE(*access.allowed) << access.right;
  EXPECT_THAT(server.api.access, SizeIs(16));
}

TEST(ApiProbe, WithoutAnAgentsPodRightsAreOurOwn) {
  Server server;
  server.answers["/api/v1/pods"] = Server::List({});
  server.answers["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] = {
      .body = R"({"status": {"allowed": false}})"};
  server.Ask({.node = "node-7", .agent = {}, .manager = true});
  EXPECT_EQ(server.api.access_of, "the user of this kubeconfig");
  EXPECT_THAT(server.api.access, SizeIs(AgentRights().size()));
  EXPECT_FALSE(*server.api.access[0].allowed);
}

TEST(ApiProbe, TheAgentItselfAsksForItself) {
  Server server;
  server.answers.erase("/apis/authorization.k8s.io/v1/subjectaccessreviews");
  server.answers["/apis/authentication.k8s.io/v1/selfsubjectreviews"] = {
      .body = R"({"status": {"userInfo": {
        "username": "system:serviceaccount:galen-system:galen-agent"}}})"};
  server.answers["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] = {
      .body = R"({"status": {"allowed": true}})"};
  server.Ask();
  EXPECT_EQ(server.api.access_of, "service account galen-system/galen-agent");
  EXPECT_TRUE(*server.api.access[0].allowed);
}

TEST(ApiProbe, AServerThatCannotBeReachedIsAskedForNothingElse) {
  Server server;
  server.answers["/version"] = {.status = 0, .end = Unavailable("connection refused")};
  server.Ask();
  EXPECT_THAT(server.Paths(), ElementsAre("/version"));
  EXPECT_THAT(server.api.pods.status().message(), HasSubstr("connection refused"));
  EXPECT_THAT(server.kubelet.plugins.status().message(), HasSubstr("connection refused"));
}

TEST(ApiProbe, WhatIsForbiddenLeavesTheRest) {
  Server server;
  const Answer forbidden = {.status = 403,
                            .body = R"({"kind": "Status", "message": "pods is forbidden: )"
                                    R"(User \"u\" cannot list resource \"pods\" in API )"
                                    R"(group \"\" at the cluster scope"})"};
  server.answers["/api/v1/pods"] = forbidden;
  server.answers["/api/v1/nodes/node-7/proxy/metrics"] = forbidden;
  server.kubelet.gates = Gates{.values = {}, .source = "/k/config.yaml"};
  server.Ask();
  EXPECT_EQ(server.api.pods.status().code(), Code::kPermissionDenied);
  EXPECT_EQ(server.kubelet.plugins.status().code(), Code::kPermissionDenied);
  EXPECT_THAT(server.api.pods.status().message(), StartsWith("missing right: list pods"));
  EXPECT_THAT(server.kubelet.plugins.status().message(), HasSubstr("missing right: list pods"));
  EXPECT_EQ(server.kubelet.gates->source, "/k/config.yaml") << "what its configuration said stays";
  EXPECT_TRUE(server.api.slices.ok());
}

TEST(ApiProbe, LongListsAreReadPageByPage) {
  Server server;
  const Answer last = Server::List({R"({"metadata": {"name": "node-8", "uid": "m"}})"});
  server.transport.AnswerBy([&](const net::HttpRequest& request) -> std::optional<Answer> {
    if (request.path.starts_with("/api/v1/nodes?") &&
        request.path.find("continue=more") != std::string::npos) {
      return last;
    }
    if (request.path.starts_with("/api/v1/nodes?")) {
      return Answer{.body = R"({"metadata": {"continue": "more"},
        "items": [{"metadata": {"name": "node-7", "uid": "n"}}]})"};
    }
    const auto it = server.answers.find(request.path.substr(0, request.path.find('?')));
    return it == server.answers.end() ? Answer{.status = 404} : it->second;
  });
  server.Ask();
  EXPECT_THAT(*server.api.nodes, ElementsAre("node-7", "node-8"));
}

TEST(ApiProbe, AServerThatNeverAnswersIsGivenUp) {
  Server server;
  server.transport.AnswerBy([](const net::HttpRequest&) { return std::optional<Answer>(); });
  server.Ask();
  EXPECT_EQ(server.api.version.status().code(), Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace galen::doctor
