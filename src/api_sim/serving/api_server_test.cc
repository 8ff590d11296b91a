#include "api_sim/serving/api_server.h"

#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"
#include "base/files/fake_file_system.h"

namespace galen::api_sim {
namespace {

const Json kPod = ToJson(R"({"metadata": {"name": "train", "labels": {"app": "train"}},
  "spec": {"containers": [{"name": "main", "image": "busybox"}]}})");
constexpr const char* kPodsPath = "/api/v1/namespaces/default/pods";
constexpr const char* kTrain = "/api/v1/namespaces/default/pods/train";

TEST(ApiServer, KeepsWhatWasCreated) {
  FakeApiClient api;
  const Sent created = api.Send("POST", kPodsPath, kPod);
  EXPECT_EQ(created.got->code(), 201);
  const Json pod = api.Body("GET", kTrain);
  EXPECT_EQ(pod, created.got->body());
  EXPECT_EQ(pod["kind"].AsString(), "Pod");
  EXPECT_EQ(pod["apiVersion"].AsString(), "v1");
  EXPECT_EQ(pod["metadata"]["namespace"].AsString(), "default");
  EXPECT_EQ(pod["spec"]["restartPolicy"].AsString(), "Always");
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Pending");
  EXPECT_FALSE(pod["metadata"]["uid"].AsString().empty());
}

TEST(ApiServer, WatchSendsEachChangeAfterTheList) {
  FakeApiClient api;
  const std::string version = api.Body("GET", kPodsPath)["metadata"]["resourceVersion"].AsString();
  const Sent watch =
      api.Send("GET", std::string(kPodsPath) + "?watch=true&resourceVersion=" + version);
  api.Send("POST", kPodsPath, kPod);
  api.Send("PATCH", kTrain, ToJson(R"({"metadata":{"labels":{"app":"serve"}}})"),
           "application/merge-patch+json");
  api.Send("DELETE", kTrain);
  const std::vector<Json> events = watch.got->TakeEvents();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["type"].AsString(), "ADDED");
  EXPECT_EQ(events[1]["type"].AsString(), "MODIFIED");
  EXPECT_EQ(events[1]["object"]["metadata"]["labels"]["app"].AsString(), "serve");
  // A Pod is marked before it goes.
  EXPECT_EQ(events[2]["type"].AsString(), "MODIFIED");
  EXPECT_EQ(events[3]["type"].AsString(), "DELETED");
  EXPECT_FALSE(watch.got->ended());
}

// Not taken for DELETE: a browser's preflight must not empty a collection.
TEST(ApiServer, MethodsItDoesNotKnowChangeNothing) {
  FakeApiClient api;
  api.Send("POST", kPodsPath, kPod);
  for (const char* method : {"OPTIONS", "TRACE", "PROPFIND", "delete"}) {
    EXPECT_EQ(api.Code(method, kPodsPath), 405) << method;
    EXPECT_EQ(api.Code(method, kTrain), 405) << method;
  }
  EXPECT_EQ(api.Code("GET", kTrain), 200);
}

TEST(ApiServer, AGraceThatDoesNotFitIsRefusedAndAVeryLongOneIsKept) {
  FakeApiClient api;
  api.Send("POST", kPodsPath, kPod);
  api.Send("POST", std::string(kTrain) + "/binding", ToJson(R"({"target": {"name": "n"}})"));
  constexpr const char* kTooLarge = "99999999999999999999";
  EXPECT_EQ(api.Code("DELETE", std::string(kTrain) + "?gracePeriodSeconds=" + kTooLarge), 400);
  EXPECT_EQ(api.Code("DELETE", kTrain, ToJson(R"({"gracePeriodSeconds": 99999999999999999999})")),
            400);
  EXPECT_FALSE(api.Body("GET", kTrain)["metadata"].Has("deletionTimestamp"));
  EXPECT_EQ(api.Code("DELETE", std::string(kTrain) + "?gracePeriodSeconds=9223372036854775807"),
            200);
  const Json meta = api.Body("GET", kTrain)["metadata"];
  EXPECT_EQ(meta["deletionGracePeriodSeconds"].AsInt(), 9223372036854775807);
  EXPECT_GT(meta["deletionTimestamp"].AsString(), meta["creationTimestamp"].AsString());
}

TEST(ApiServer, RefusesAnUpdateThatMissedAChange) {
  FakeApiClient api;
  api.Send("POST", kPodsPath, kPod);
  const Json old = api.Body("GET", kTrain);
  api.Send("PATCH", kTrain, ToJson(R"({"metadata":{"labels":{"a":"b"}}})"),
           "application/merge-patch+json");
  const Sent late = api.Send("PUT", kTrain, old);
  EXPECT_EQ(late.got->code(), 409);
  EXPECT_EQ(late.got->body()["reason"].AsString(), "Conflict");
}

TEST(ApiServer, StatusAndMainPartAreWrittenApart) {
  FakeApiClient api;
  api.Send("POST", kPodsPath, kPod);
  Json pod = api.Body("GET", kTrain);
  pod["status"]["phase"] = "Running";
  pod["metadata"]["labels"]["b"] = "c";
  EXPECT_EQ(api.Code("PUT", kTrain, pod), 200);
  pod = api.Body("GET", kTrain);
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Pending");
  EXPECT_EQ(pod["metadata"]["labels"]["b"].AsString(), "c");
  pod["status"]["phase"] = "Running";
  pod["spec"]["nodeName"] = "node-1";
  EXPECT_EQ(api.Code("PUT", std::string(kTrain) + "/status", pod), 200);
  pod = api.Body("GET", kTrain);
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Running");
  EXPECT_FALSE(pod["spec"].Has("nodeName"));
}

TEST(ApiServer, AWriteThatChangesNothingSpendsNoVersion) {
  FakeApiClient api;
  api.Send("POST", kPodsPath, kPod);
  const Json pod = api.Body("GET", kTrain);
  EXPECT_EQ(api.Body("PUT", kTrain, pod), pod);
}

TEST(ApiServer, RefusesUnknownTokensWith401AndForbiddenActsWith403) {
  ApiServer::Options options;
  options.users_by_token["good"] = User{"viewer", {}, {{{"get", "list", "watch"}, {"*"}}}};
  FakeApiClient api(std::move(options));
  EXPECT_EQ(api.Code("GET", kPodsPath), 401);
  EXPECT_EQ(api.Code("GET", "/readyz"), 200);
  api.SetHeaders({{"authorization", "Bearer bad"}});
  EXPECT_EQ(api.Body("GET", kPodsPath)["reason"].AsString(), "Unauthorized");
  api.SetHeaders({{"authorization", "Bearer good"}});
  EXPECT_EQ(api.Code("GET", kPodsPath), 200);
  const Json denied = api.Body("POST", kPodsPath, kPod);
  EXPECT_EQ(denied["code"].AsInt(), 403);
  EXPECT_EQ(denied["message"].AsString(),
            "pods is forbidden: User \"viewer\" cannot create resource \"pods\" in API group \"\" "
            "in the namespace \"default\"");
}

TEST(ApiServer, KeepsItsStateOverARestart) {
  FakeFileSystem files;
  ApiServer::Options options;
  options.files = &files;
  options.data_directory = "/data";
  Json before;
  {
    FakeApiClient api(options);
    before = (api.Send("POST", kPodsPath, kPod), api.Body("GET", kTrain));
  }
  FakeApiClient api(options);
  EXPECT_EQ(api.Body("GET", kTrain), before);
  api.Send("DELETE", kTrain);
  EXPECT_EQ(api.Code("GET", kTrain), 404);
}

}  // namespace
}  // namespace galen::api_sim
