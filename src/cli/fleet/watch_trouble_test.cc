#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"
#include "cli/fleet/live_fleet.h"
#include "kube/fake_transport.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

const Status kAway = Unavailable(
    "watch pods: cannot reach the API server at https://127.0.0.1:6443: connection refused");
const Status kForbidden = PermissionDenied("watch pods: pods is forbidden");

class WatchTroubleTest : public testing::Test {
 protected:
  void ServerAnswers(int status) {
    transport_.AnswerBy([status](const net::HttpRequest&) {
      return kube::FakeTransport::Answer{.status = status, .body = R"({"items": []})"};
    });
  }
  // As a watcher does whose every try fails.
  void KeepFailing(const Status& status, int tries) {
    for (int i = 0; i < tries; ++i) {
      trouble_.Report(kube::kPods, "", status);
      loop_.Advance(WatchTrouble::kTriesAgainWithin);
    }
  }

  FakeLoop loop_;
  kube::FakeTransport transport_{loop_};
  kube::Client client_{loop_, transport_};
  int changes_ = 0;
  WatchTrouble trouble_{loop_, client_, [this] { ++changes_; }};
};

TEST_F(WatchTroubleTest, IsNoneAtFirst) {
  EXPECT_TRUE(trouble_.Lines().empty());
  EXPECT_FALSE(trouble_.since());
}

TEST_F(WatchTroubleTest, SaysSinceWhenAndWhyOnceForAllKinds) {
  const WallTime lost = loop_.WallNow();
  for (int tries = 0; tries < 2; ++tries) {
    trouble_.Report(kube::kPods, "", kAway);
    trouble_.Report(kube::kResourceClaims, "",
                    Unavailable("list resourceclaims: cannot reach the API server at "
                                "https://127.0.0.1:6443: connection refused"));
  }
  ASSERT_EQ(trouble_.Lines().size(), 1u);
  EXPECT_NE(trouble_.Lines()[0].find("not live since"), std::string::npos);
  EXPECT_EQ(trouble_.since(), lost);
  EXPECT_EQ(changes_, 2);
}

TEST_F(WatchTroubleTest, LastsWhileTheWatcherFailsThoughOtherQuestionsAreAnswered) {
  ServerAnswers(200);
  KeepFailing(kForbidden, 10);
  EXPECT_EQ(trouble_.Lines().size(), 1u);
  EXPECT_TRUE(transport_.requests().empty()) << "the watcher's own tries are enough";
}

TEST_F(WatchTroubleTest, EndsWhenTheWatcherIsQuietAndTheServerAnswers) {
  KeepFailing(kAway, 2);
  const int changes = changes_;
  ServerAnswers(503);
  loop_.Advance(10s);
  EXPECT_EQ(trouble_.Lines().size(), 1u) << "quiet, but not answered";
  ServerAnswers(200);
  loop_.Advance(40s);
  EXPECT_TRUE(trouble_.Lines().empty());
  EXPECT_EQ(changes_, changes + 1);
}

TEST_F(WatchTroubleTest, IsNotABrokenConnectionThatIsThereAgainAtOnce) {
  ServerAnswers(200);
  trouble_.Report(kube::kPods, "", kAway);
  loop_.Advance(10s);
  trouble_.Report(kube::kPods, "", kAway);
  EXPECT_TRUE(trouble_.Lines().empty()) << "an hour may lie between the two";
  EXPECT_EQ(changes_, 0);
}

TEST_F(WatchTroubleTest, IsTheFirstRefusalAtOnce) {
  trouble_.Report(kube::kPods, "", kForbidden);
  EXPECT_EQ(trouble_.Lines().size(), 1u);
}

TEST_F(WatchTroubleTest, KeepsTheMomentOfTheFirstLossWhileTheReasonChanges) {
  const WallTime lost = loop_.WallNow();
  KeepFailing(kAway, 3);
  KeepFailing(kForbidden, 1);
  EXPECT_EQ(trouble_.since(), lost);
  EXPECT_NE(trouble_.Lines()[0].find("forbidden"), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
