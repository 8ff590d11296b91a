#include "api_sim/storage/watch_hub.h"

#include <gtest/gtest.h>

#include <utility>

#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

using std::chrono::seconds;

constexpr const char* kWatchedMaps = "/api/v1/namespaces/default/configmaps";

Json SizedMap(std::string_view name, std::size_t bytes = 1) {
  Json map = ToJson(R"({"data": {}})");
  map["metadata"]["name"] = name;
  map["data"]["text"] = std::string(bytes, 'x');
  return map;
}

TEST(WatchHub, SendsABookmarkToAQuietWatcherThatWantsOne) {
  FakeApiClient api;
  const Sent watch =
      api.Send("GET", std::string(kWatchedMaps) + "?watch=1&allowWatchBookmarks=true");
  const Sent plain = api.Send("GET", std::string(kWatchedMaps) + "?watch=1");
  api.Body("POST", "/api/v1/namespaces", ToJson(R"({"metadata": {"name": "elsewhere"}})"));
  const std::string newest =
      api.Body("GET", kWatchedMaps)["metadata"]["resourceVersion"].AsString();
  api.loop().Advance(WatchHub::kBookmarkInterval);
  const std::vector<Json> events = watch.got->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["type"].AsString(), "BOOKMARK");
  // It is as new as the whole store, though nothing of its own kind changed.
  EXPECT_EQ(events[0]["object"]["metadata"]["resourceVersion"].AsString(), newest);
  EXPECT_TRUE(plain.got->TakeEvents().empty());
}

TEST(WatchHub, EndsWithABookmarkWhenItsTimeIsUp) {
  FakeApiClient api;
  const Sent watch = api.Send(
      "GET", std::string(kWatchedMaps) + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=30");
  api.loop().Advance(seconds(29));
  EXPECT_FALSE(watch.got->ended());
  api.loop().Advance(seconds(2));
  EXPECT_TRUE(watch.got->ended());
  EXPECT_EQ(watch.got->TakeEvents().back()["type"].AsString(), "BOOKMARK");
  EXPECT_EQ(api.server().watchers(), 0u);
}

TEST(WatchHub, MakesAClientOfAnEarlierLifeListAgain) {
  FakeApiClient api;
  const Sent watch =
      api.Send("GET", std::string(kWatchedMaps) + "?watch=1&resourceVersion=999999999999");
  EXPECT_EQ(watch.got->TakeEvents()[0]["object"]["code"].AsInt(), 410);
}

TEST(WatchHub, ForgetsAWatcherThatWentAway) {
  FakeApiClient api;
  Sent watch = api.Send("GET", std::string(kWatchedMaps) + "?watch=1");
  EXPECT_EQ(api.server().watchers(), 1u);
  watch.call.reset();
  api.loop().RunUntilIdle();
  EXPECT_EQ(api.server().watchers(), 0u);
}

// An exchange whose client reads nothing until the test lets it.
class SlowExchange final : public net::HttpExchange {
 public:
  explicit SlowExchange(std::string& out, std::function<void()>& drained)
      : out_(out), drained_(drained) {}
  const net::HttpRequest& request() const override { return request_; }
  std::optional<net::PeerCredentials> peer() const override { return std::nullopt; }
  void Head(int, net::Headers) override {}
  void Write(std::string bytes) override { out_ += bytes; }
  void End(net::Headers) override {}
  std::size_t queued() const override { return out_.size(); }
  void OnDrained(std::function<void()> callback) override { drained_ = std::move(callback); }
  void OnGone(std::function<void()>) override {}

 private:
  const net::HttpRequest request_;
  std::string& out_;
  std::function<void()>& drained_;
};

class SlowWatch : public testing::Test {
 protected:
  void Start(bool initial = false) {
    const KindRef kind = kinds_.Find("", "v1", "configmaps");
    hub_.Start({.kind = kind,
                .ns = "",
                .selection = {},
                .after = store_.version(),
                .timeout = std::chrono::hours(1),
                .bookmarks = initial,
                .initial_events = initial,
                .initial_bookmark = initial,
                .present = [](const Json& object) { return object; }},
               std::make_unique<SlowExchange>(out_, drained_));
  }
  void Put(int i) {
    const std::string name = "m" + std::to_string(i);
    Json map = SizedMap(name, 64 * 1024);
    map["metadata"]["namespace"] = "d";
    store_.Put("/configmaps", {"d", name}, std::move(map));
    loop_.RunUntilIdle();
  }

  // Everything that was sent so far is read; more comes as far as there is room.
  std::string Read() {
    std::string read = std::exchange(out_, {});
    drained_();
    loop_.RunUntilIdle();
    return read;
  }

  FakeLoop loop_;
  KindTable kinds_;
  ObjectStore store_{{.first_version = 1, .history_max = 16}};
  std::string out_;
  std::function<void()> drained_;
  WatchHub hub_{loop_, store_};
};

TEST_F(SlowWatch, IsFedNoMoreThanItReads) {
  Start();
  for (int i = 0; i < 10; ++i) Put(i);
  EXPECT_LT(out_.size(), WatchHub::kQueuedBytesMax + 128 * 1024);
  out_.clear();
  drained_();
  loop_.RunUntilIdle();
  EXPECT_NE(out_.find("\"m5\""), std::string::npos);
}

TEST_F(SlowWatch, GetsTheObjectsItBeginsWithAsItReadsThem) {
  for (int i = 0; i < 10; ++i) Put(i);
  Start(/*initial=*/true);
  EXPECT_LT(out_.size(), WatchHub::kQueuedBytesMax + 128 * 1024);
  Put(10);
  std::string all;
  for (int i = 0; i < 5; ++i) all += Read();
  std::size_t at = 0;
  for (const char* next : {"\"m0\"", "\"m9\"", "initial-events-end", "\"m10\""}) {
    at = all.find(next, at);
    EXPECT_NE(at, std::string::npos) << next;
  }
}

TEST_F(SlowWatch, EndsWithoutABookmarkWhileItLacksObjectsItBeginsWith) {
  for (int i = 0; i < 10; ++i) Put(i);
  Start(/*initial=*/true);
  loop_.Advance(std::chrono::hours(2));
  EXPECT_EQ(out_.find("BOOKMARK"), std::string::npos);
  EXPECT_EQ(hub_.watchers(), 0u);
}

TEST_F(SlowWatch, IsAnsweredGoneWhenTheHistoryHasMovedOn) {
  Start();
  for (int i = 0; i < 40; ++i) Put(i);
  out_.clear();
  drained_();
  loop_.RunUntilIdle();
  EXPECT_NE(out_.find("\"code\":410"), std::string::npos);
  EXPECT_NE(out_.find("\"ERROR\""), std::string::npos);
  EXPECT_EQ(hub_.watchers(), 0u);
}

}  // namespace
}  // namespace galen::api_sim
