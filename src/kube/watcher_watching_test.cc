// The watcher's state Watching, event by event.
#include <gtest/gtest.h>

#include "kube/test_watcher.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

TEST_F(WatcherTest, PassesEventsOnAsTheyCome) {
  StartWatching();
  Receive(EventText("ADDED", PodText("b", 11)) + EventText("MODIFIED", PodText("a", 12)));
  EXPECT_EQ(sink_.Take(), "applied:b applied:a ");
  Receive(EventText("DELETED", PodText("a", 13)));
  EXPECT_EQ(sink_.Take(), "deleted:a ");
}

TEST_F(WatcherTest, WatchesAgainAtOnceFromTheLastEventWhenTheServerEndsTheWatch) {
  StartWatching();
  Receive(EventText("DELETED", PodText("a", 13)));
  transport_.End(Latest());
  EXPECT_EQ(transport_.last(), WatchFrom("13"));
  EXPECT_EQ(sink_.Take(), "deleted:a ");
}

TEST_F(WatcherTest, BookmarksMoveTheVersionAndSayNothing) {
  StartWatching();
  Receive(EventText("BOOKMARK", R"({"metadata":{"resourceVersion":"99"}})"));
  EXPECT_EQ(sink_.Take(), "");
  loop_.Advance(Watcher::kWatchTimeout);
  transport_.End(Latest());
  EXPECT_EQ(transport_.last(), WatchFrom("99"));
}

// What its owner may have missed when it is notified of trouble, however late that is.
TEST_F(WatcherTest, RemembersItsLastContact) {
  EXPECT_EQ(watcher_.last_contact(), std::nullopt);
  StartWatching();
  const Time watched = loop_.Now();
  EXPECT_EQ(watcher_.last_contact(), watched);
  loop_.Advance(10s);
  Receive(EventText("MODIFIED", PodText("a", 12)));
  EXPECT_EQ(watcher_.last_contact(), watched + 10s);
  loop_.Advance(60s);
  transport_.End(Latest(), Unavailable("silent, and no answer to a PING"));
  EXPECT_EQ(watcher_.last_contact(), watched + 10s);
}

TEST_F(WatcherTest, AWatchThatEndsInOrderHasMissedNothing) {
  StartWatching();
  loop_.Advance(60s);
  transport_.End(Latest());
  EXPECT_EQ(watcher_.last_contact(), loop_.Now());
}

TEST_F(WatcherTest, DoesNotTurnInATightLoopWhenWatchesEndAtOnce) {
  StartWatching();
  transport_.AnswerBy([](const net::HttpRequest&) { return FakeTransport::Answer{}; });
  transport_.End(Latest());
  Asked();
  loop_.Advance(1min);
  EXPECT_LT(Asked(), 20u);
  EXPECT_EQ(transport_.last(), kWatchFrom10);
}

TEST_F(WatcherTest, QuietWatchesThatLastAreNoReasonToWait) {
  StartWatching();
  for (int i = 0; i < 5; ++i) {
    loop_.Advance(i < 2 ? Watcher::kWatchTimeout : 1s);
    Asked();
    transport_.End(Latest());
    EXPECT_EQ(Asked(), 1u) << "round " << i;
    transport_.Head(Latest());
  }
  EXPECT_EQ(sink_.Take(), "");
}

TEST_F(WatcherTest, TakesUpALostWatchWhereItEnded) {
  StartWatching();
  Receive(EventText("MODIFIED", PodText("a", 11)));
  Asked();
  transport_.End(Latest(), Unavailable("connection reset"));
  EXPECT_EQ(sink_.Take(), "applied:a trouble ");
  EXPECT_EQ(Asked(), 0u) << "not before a short wait";
  loop_.Advance(250ms);
  EXPECT_EQ(transport_.last(), WatchFrom("11"));
}

TEST_F(WatcherTest, KeepsItsVersionHoweverLongTheServerIsAway) {
  StartWatching();
  transport_.AnswerBy([](const net::HttpRequest&) {
    return FakeTransport::Answer{.status = 0, .end = Unavailable("connection refused")};
  });
  transport_.End(Latest(), Unavailable("connection refused"));
  Asked();
  loop_.Advance(1min);
  EXPECT_LT(Asked(), 20u) << "a storm";
  EXPECT_EQ(transport_.last(), kWatchFrom10);
  transport_.AnswerBy({});
  loop_.Advance(kBackoffMost);
  EXPECT_EQ(transport_.last(), kWatchFrom10);
  EXPECT_TRUE(transport_.open(Latest()));
}

TEST_F(WatcherTest, WaitsShortlyAgainAfterAWatchThatBroughtSomething) {
  StartWatching();
  for (int i = 0; i < 10; ++i) {
    transport_.End(Latest(), Unavailable("reset"));
    loop_.Advance(kBackoffMost);
    transport_.Head(Latest());
  }
  Receive(EventText("MODIFIED", PodText("a", 11)));
  transport_.End(Latest(), Unavailable("reset"));
  Asked();
  loop_.Advance(250ms);
  EXPECT_EQ(Asked(), 1u);
}

TEST_F(WatcherTest, ListsAgainAtOnceWhenTheWatchIsRefusedAsTooOld) {
  StartWatching();
  loop_.Advance(Watcher::kWatchTimeout);
  transport_.AnswerNext({.status = 410});
  transport_.End(Latest());
  loop_.RunUntilIdle();
  EXPECT_EQ(transport_.last(), kList);
  EXPECT_EQ(sink_.Take(), "") << "everyday business";
}

TEST_F(WatcherTest, ListsAgainAtOnceWhenTheWatchSaysThatItIsTooOld) {
  StartWatching();
  Receive(ErrorText(410) + EventText("MODIFIED", PodText("a", 99)));
  EXPECT_EQ(transport_.last(), kList);
  EXPECT_EQ(sink_.Take(), "") << "what follows an error is not read";
  transport_.Head(Latest());
  Receive(ListText(PodText("b", 20), 21));
  transport_.End(Latest());
  EXPECT_EQ(sink_.Take(), "init item:b done ");
  EXPECT_EQ(transport_.last(), WatchFrom("21"));
}

TEST_F(WatcherTest, BacksOffWhenEveryWatchIsTooOld) {
  transport_.AnswerBy([](const net::HttpRequest& request) {
    const bool watch = request.path.find("watch=true") != std::string::npos;
    return watch ? FakeTransport::Answer{.body = ErrorText(410)}
                 : FakeTransport::Answer{.body = ListText("", 10)};
  });
  watcher_.Start();
  loop_.Advance(1min);
  EXPECT_LT(Asked(), 40u);
}

TEST_F(WatcherTest, ReportsOtherErrorsAndTriesAgainFromTheSameVersion) {
  StartWatching();
  Receive(ErrorText(500));
  EXPECT_EQ(sink_.trouble, "Unavailable: watch pods: answered 500");
  loop_.Advance(250ms);
  EXPECT_EQ(transport_.last(), kWatchFrom10);
}

TEST_F(WatcherTest, ListsAfreshWhenWatchesAreRefusedAgainAndAgain) {
  StartWatching();
  for (int i = 0; i < Watcher::kRefusedWatchesMax; ++i) {
    EXPECT_EQ(transport_.last(), kWatchFrom10) << i;
    if (i > 0) transport_.Head(Latest());
    Receive(ErrorText(500));
    loop_.Advance(kBackoffMost);
  }
  EXPECT_EQ(transport_.last(), kList);
}

TEST_F(WatcherTest, WarnsOfWhatItMayNotWatch) {
  StartWatching();
  transport_.AnswerNext({.status = 403, .body = R"({"kind":"Status","message":"no watch"})"});
  transport_.End(Latest());
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.trouble, "PermissionDenied: watch pods: no watch");
}

TEST_F(WatcherTest, ListsAfreshWhenTheServerDoesNotKnowItsVersion) {
  StartWatching();
  transport_.AnswerNext({.status = 400, .body = "invalid resourceVersion"});
  transport_.End(Latest());
  loop_.Advance(250ms);
  EXPECT_EQ(transport_.last(), kList);
  EXPECT_EQ(sink_.Take(), "trouble ");
}

TEST_F(WatcherTest, GivesUpAWatchThatTheServerShouldHaveEnded) {
  StartWatching();
  loop_.Advance(Watcher::kWatchTimeout + Watcher::kWatchGrace - 1ns);
  EXPECT_TRUE(transport_.open(Latest()));
  loop_.Advance(1ns);
  EXPECT_EQ(sink_.trouble,
            "DeadlineExceeded: watch pods: the server did not end the watch in time");
  EXPECT_FALSE(transport_.open(1));
  loop_.Advance(250ms);
  EXPECT_EQ(transport_.last(), kWatchFrom10);
}

TEST_F(WatcherTest, ReportsBrokenEventsAndListsAfreshWhenTheyDoNotEnd) {
  StartWatching();
  for (int i = 0; i < Watcher::kRefusedWatchesMax; ++i) {
    if (i > 0) transport_.Head(Latest());
    Receive("{broken}\n" + EventText("ADDED", PodText("b", 50)));
    EXPECT_EQ(sink_.Take(), "trouble ") << "nothing after the broken event counts";
    loop_.Advance(kBackoffMost);
  }
  EXPECT_EQ(transport_.last(), kList);
}

TEST_F(WatcherTest, AnEventWithoutAVersionIsBroken) {
  StartWatching();
  Receive(EventText("ADDED", R"({"metadata":{"name":"x"}})"));
  EXPECT_EQ(sink_.Take(), "trouble ");
  EXPECT_EQ(sink_.trouble,
            "DataLoss: watch pods: the server sent an event without a resourceVersion");
}

TEST_F(WatcherTest, AWatchThatEndsInsideAnEventIsLost) {
  StartWatching();
  Receive("{\"type\":\"ADD");
  transport_.End(Latest());
  EXPECT_EQ(sink_.trouble, "DataLoss: watch pods: the watch ended inside an event");
  loop_.Advance(250ms);
  EXPECT_EQ(transport_.last(), kWatchFrom10);
}

TEST_F(WatcherTest, AnEventBetweenRefusalsBeginsTheirCountAnew) {
  StartWatching();
  for (int i = 0; i < Watcher::kRefusedWatchesMax - 1; ++i) {
    if (i > 0) transport_.Head(Latest());
    Receive(ErrorText(500));
    loop_.Advance(kBackoffMost);
  }
  transport_.Head(Latest());
  Receive(EventText("MODIFIED", PodText("a", 11)) + ErrorText(500));
  loop_.Advance(kBackoffMost);
  EXPECT_EQ(transport_.last(), WatchFrom("11")) << "one refusal more is not enough for a new list";
}

}  // namespace
}  // namespace galen::kube
