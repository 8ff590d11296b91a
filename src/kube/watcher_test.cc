#include "kube/watcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "kube/test_watcher.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

// Empty

TEST_F(WatcherTest, DoesNothingUntilItIsStarted) {
  loop_.Advance(1h);
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(WatcherTest, StartsWithAListAndThenWatchesFromItsVersion) {
  watcher_.Start();
  EXPECT_EQ(transport_.last(), kList);
  EXPECT_EQ(sink_.Take(), "");
  transport_.Head(0);
  transport_.Data(0, ListText(PodText("a", 7) + "," + PodText("b", 9), 10));
  EXPECT_EQ(sink_.Take(), "init item:a item:b ");
  transport_.End(0);
  EXPECT_EQ(sink_.Take(), "done ");
  EXPECT_EQ(transport_.last(), kWatchFrom10);
}

// Listing

TEST_F(WatcherTest, ListsPageByPageAndIsDoneOnlyAfterTheLast) {
  transport_.AnswerNext({.body = ListText(PodText("a", 1), 10, "t1")});
  transport_.AnswerNext({.body = ListText(PodText("b", 2), 10, "t2")});
  watcher_.Start();
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.Take(), "init item:a item:b ");
  EXPECT_EQ(transport_.last(), std::string(kList) + "&continue=t2");
  transport_.Head(2);
  transport_.Data(2, ListText(PodText("c", 3), 10));
  transport_.End(2);
  EXPECT_EQ(sink_.Take(), "item:c done ");
  EXPECT_EQ(transport_.last(), kWatchFrom10);
}

TEST_F(WatcherTest, StartsTheListOverWhenAPagesTokenHasExpired) {
  transport_.AnswerNext({.body = ListText(PodText("a", 1), 10, "t1")});
  transport_.AnswerNext({.status = 410});
  watcher_.Start();
  loop_.RunUntilIdle();
  EXPECT_EQ(transport_.last(), kList);
  transport_.Head(2);
  transport_.Data(2, ListText(PodText("b", 1), 11));
  transport_.End(2);
  EXPECT_EQ(sink_.Take(), "init item:a init item:b done ");
}

TEST_F(WatcherTest, BacksOffWhenTokensExpireAgainAndAgain) {
  transport_.AnswerBy([](const net::HttpRequest& request) {
    const bool later_page = request.path.find("continue") != std::string::npos;
    return later_page ? FakeTransport::Answer{.status = 410}
                      : FakeTransport::Answer{.body = ListText("", 10, "t")};
  });
  watcher_.Start();
  loop_.Advance(1min);
  EXPECT_LT(Asked(), 40u) << "a tight loop of lists";
  const auto is_first_page = [](const net::HttpRequest& request) {
    return request.path.find("continue") == std::string::npos;
  };
  EXPECT_GE(std::ranges::count_if(transport_.requests(), is_first_page), 4)
      << "a token that has expired is not asked for again";
}

TEST_F(WatcherTest, AsksForTheSamePageAgainWhenTheConnectionIsLostInIt) {
  transport_.AnswerNext({.body = ListText(PodText("a", 1), 10, "t1")});
  transport_.AnswerNext({.body = R"({"items":[)" + PodText("b", 1), .end = Unavailable("reset")});
  watcher_.Start();
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.Take(), "init item:a item:b trouble ");
  EXPECT_EQ(sink_.trouble, "Unavailable: list pods: reset");
  loop_.Advance(kBackoffMost);
  EXPECT_EQ(transport_.last(), std::string(kList) + "&continue=t1");
  transport_.Head(Latest());
  Receive(ListText(PodText("b", 1), 10));
  transport_.End(Latest());
  EXPECT_EQ(sink_.Take(), "item:b done ");
}

TEST_F(WatcherTest, ReportsAListThatIsBrokenAndTriesAgain) {
  for (const char* body : {"{\"items\":[{]}", "<html>", R"({"items":[]})", "{\"items\":["}) {
    transport_.AnswerNext({.body = body});
  }
  watcher_.Start();
  loop_.Advance(10s);
  EXPECT_EQ(sink_.Take(), "init trouble init trouble init trouble init trouble ");
  EXPECT_EQ(transport_.last(), kList);
}

TEST_F(WatcherTest, ReportsAServerThatTurnsInACircle) {
  transport_.AnswerBy(
      [](const net::HttpRequest&) { return FakeTransport::Answer{.body = ListText("", 10, "t")}; });
  watcher_.Start();
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.trouble, "DataLoss: list pods: the server gives the same page again and again");
  EXPECT_EQ(Asked(), 2u);
}

TEST_F(WatcherTest, WarnsOfWhatItMayNotList) {
  transport_.AnswerNext(
      {.status = 403, .body = R"({"kind":"Status","message":"pods is forbidden"})"});
  watcher_.Start();
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.trouble, "PermissionDenied: list pods: pods is forbidden");
  loop_.Advance(kBackoffMost);
  EXPECT_EQ(Asked(), 2u) << "rights may be given later";
}

TEST_F(WatcherTest, ARefusalThatComesInPiecesIsReadWhole) {
  watcher_.Start();
  transport_.Head(0, 403);
  transport_.Data(0, R"({"kind":"Status","message":"pods is )");
  transport_.Data(0, R"(forbidden"})");
  transport_.End(0);
  EXPECT_EQ(sink_.trouble, "PermissionDenied: list pods: pods is forbidden");
}

TEST_F(WatcherTest, WaitsLongForAPersonAndNotForAServerThatWasAway) {
  Transcript sink;
  Watcher patient(loop_, client_, random_,
                  {.resource = kPods, .refused = {.first = 10min, .most = 10min}}, sink);
  transport_.AnswerNext({.status = 503});
  transport_.AnswerNext({.status = 403});
  patient.Start();
  loop_.Advance(kBackoffMost);
  EXPECT_EQ(Asked(), 2u) << "a server that is away is back soon";
  transport_.AnswerNext({.status = 503});
  loop_.Advance(4min);
  EXPECT_EQ(Asked(), 0u) << "a right is missing";
  loop_.Advance(6min);
  EXPECT_GE(Asked(), 2u);
}

TEST_F(WatcherTest, WaitsAsLongAsTheServerSays) {
  transport_.AnswerNext({.status = 429, .headers = {{"retry-after", "20"}}});
  watcher_.Start();
  loop_.Advance(20s - 1ns);
  EXPECT_EQ(Asked(), 1u);
  loop_.Advance(1ns);
  EXPECT_EQ(Asked(), 1u);
}

TEST_F(WatcherTest, GivesUpAListThatStallsButNotOneThatIsSlow) {
  watcher_.Start();
  transport_.Head(0);
  transport_.Data(0, R"({"items":[)");
  for (int i = 0; i < 5; ++i) {
    loop_.Advance(Watcher::kListStallMax - 1s);
    transport_.Data(0, " ");
  }
  EXPECT_EQ(sink_.Take(), "init ");
  loop_.Advance(Watcher::kListStallMax);
  EXPECT_EQ(sink_.Take(), "trouble ");
  EXPECT_FALSE(transport_.open(0));
  loop_.Advance(kBackoffMost);
  EXPECT_EQ(transport_.last(), kList);
}

// Ends

TEST(Watcher, MayBeDestroyedInAnyState) {
  FakeLoop loop;
  Random random(1);
  FakeTransport transport(loop);
  Client client(loop, transport);
  Transcript sink;
  for (const int status : {200, 500}) {
    transport.AnswerNext({.status = status, .body = ListText("", 10)});
    auto watcher =
        std::make_unique<Watcher>(loop, client, random, Watcher::Options{.resource = kPods}, sink);
    watcher->Start();
    loop.RunUntilIdle();
    watcher.reset();
    sink.Take();
    loop.Advance(1h);
    EXPECT_EQ(sink.Take(), "");
  }
  EXPECT_EQ(loop.waiting(), 0u);
}

}  // namespace
}  // namespace galen::kube
