#include "bench/pod_list.h"

#include <gtest/gtest.h>

#include "kube/objects/pod.h"
#include "kube/request.h"

namespace galen::bench {
namespace {

TEST(PodList, HoldsPodsThatAreRealEnoughToBeRead) {
  const auto json = Json::Parse(PodJson(17));
  ASSERT_TRUE(json.ok()) << json.status().message();
  const auto pod = kube::DecodePod(*json);
  ASSERT_TRUE(pod.ok()) << pod.status().message();
  EXPECT_EQ(pod->meta.key.name, "trainer-17");
  EXPECT_EQ(pod->node, "node-2");
  EXPECT_EQ(pod->phase, "Running");
  EXPECT_GT(PodJson(17).size(), 8'000u);
  EXPECT_LT(PodJson(17).size(), 12'000u);
}

TEST(PodList, UnderstandsWhatOurOwnRequestsAsk) {
  const PageAsked first = ParsePage(kube::List(kube::kPods, "", {.limit = 500}).path);
  EXPECT_EQ(first.limit, 500u);
  EXPECT_EQ(first.first, 0u);
  EXPECT_FALSE(first.watch);
  const PageAsked next =
      ParsePage(kube::List(kube::kPods, "", {.limit = 500, .resume = "1500"}).path);
  EXPECT_EQ(next.first, 1500u);
  EXPECT_EQ(ParsePage(kube::List(kube::kPods, "", {.limit = 0}).path).limit, 0u);
  EXPECT_TRUE(ParsePage(kube::Watch(kube::kPods, "", {.resource_version = "9"}).path).watch);
}

// Receives a request and keeps the answer's body.
class Exchange final : public net::HttpExchange {
 public:
  Exchange(std::string path, std::string& body) : body_(body) { request_.path = std::move(path); }
  const net::HttpRequest& request() const override { return request_; }
  std::optional<net::PeerCredentials> peer() const override { return std::nullopt; }
  void Head(int, net::Headers) override {}
  void Write(std::string bytes) override { body_ += bytes; }
  void End(net::Headers) override {}
  std::size_t queued() const override { return 0; }
  void OnDrained(std::function<void()>) override {}
  void OnGone(std::function<void()>) override {}

 private:
  net::HttpRequest request_;
  std::string& body_;
};

TEST(PodListServer, SendsEachPodOnceOverAllPages) {
  PodListServer server(7);
  std::string path = kube::List(kube::kPods, "", {.limit = 3}).path;
  std::vector<std::string> names;
  for (int page = 0; page < 3; ++page) {
    std::string body;
    server.Handle(std::make_unique<Exchange>(path, body));
    const auto list = Json::Parse(body);
    ASSERT_TRUE(list.ok()) << list.status().message();
    for (const Json& pod : (*list)["items"].items()) {
      names.push_back(pod["metadata"]["name"].AsString());
    }
    path = kube::List(kube::kPods, "",
                      {.limit = 3, .resume = (*list)["metadata"]["continue"].AsString()})
               .path;
    EXPECT_EQ((*list)["metadata"].Has("continue"), page < 2);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"trainer-0", "trainer-1", "trainer-2", "trainer-3",
                                             "trainer-4", "trainer-5", "trainer-6"}));
}

TEST(PodListServer, SendsAllAtOnceWithoutALimit) {
  PodListServer server(7);
  std::string body;
  server.Handle(std::make_unique<Exchange>(kube::List(kube::kPods, "", {.limit = 0}).path, body));
  EXPECT_EQ(body.size(), server.list_bytes());
  EXPECT_EQ((*Json::Parse(body))["items"].items().size(), 7u);
}

}  // namespace
}  // namespace galen::bench
