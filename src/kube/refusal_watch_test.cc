#include "kube/refusal_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "base/loop/fake_loop.h"
#include "kube/client.h"
#include "kube/fake_transport.h"
#include "kube/request.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As kube-apiserver 1.37.1 answers.
std::string Forbidden(const std::string& what) {
  return R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":)"
         R"("pods \"a\" is forbidden: User \"system:serviceaccount:galen-system:galen-agent\" )"
         R"(cannot )" +
         what + R"("})";
}
const std::string kPatchStatus =
    R"(patch resource \"pods/status\" in API group \"\" in the namespace \"train\")";

class RefusalWatchTest : public ::testing::Test {
 protected:
  RefusalWatchTest()
      : log_(
            LogLevel::kInfo, [this] { return loop_.WallNow(); },
            [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }) {
    watch_.OnRestored([this] { ++restored_; });
    // Whoever asks for itself whether it may.
    api_.AnswerBy([this](const net::HttpRequest& request) -> std::optional<FakeTransport::Answer> {
      if (!request.path.ends_with("/selfsubjectaccessreviews")) return std::nullopt;
      if (reviews_wait_) return std::nullopt;
      const Json review = Json::Parse(request.body).value();
      const Json& what = review["spec"]["resourceAttributes"];
      reviews_.push_back(what["verb"].AsString() + " " + what["resource"].AsString() + " " +
                         what["namespace"].AsString());
      return FakeTransport::Answer{.status = review_status_,
                                   .body = allowed_.contains(reviews_.back())
                                               ? R"({"status":{"allowed":true}})"
                                               : R"({"status":{"allowed":false}})"};
    });
  }

  // One request, answered with this; the code that its sender gets.
  Code Ask(net::HttpRequest request, int status, std::string body) {
    api_.AnswerNext({.status = status, .body = std::move(body)});
    std::optional<Status> result;
    const auto call = client_.Do(std::move(request),
                                 [&](const StatusOr<Json>& reply) { result = reply.status(); });
    loop_.RunUntilIdle();
    EXPECT_TRUE(result) << "no answer";
    return result.value_or(OkStatus()).code();
  }
  Code PatchPod(const std::string& ns, int status, std::string body) {
    return Ask(Patch(kPods, ns, "a", PatchType::kStrategic, Json::MakeObject({}),
                     {.subresource = "status"}),
               status, std::move(body));
  }

  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_;
  FakeTransport api_{loop_};
  RefusalWatch watch_{loop_, log_, api_, "deploy/examples/manager.yaml"};
  Client client_{loop_, watch_};
  int restored_ = 0;
  int review_status_ = 201;
  bool reviews_wait_ = false;
  std::set<std::string> allowed_;
  std::vector<std::string> reviews_;
};

TEST_F(RefusalWatchTest, AMissingRightIsLoggedOnceAndListedForAsLongAsItIsMissing) {
  EXPECT_THAT(watch_.missing(), IsEmpty());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(PatchPod("train", 403, Forbidden(kPatchStatus)), Code::kPermissionDenied);
  }
  EXPECT_THAT(
      watch_.missing(),
      ElementsAre(R"(patch resource "pods/status" in API group "" in the namespace "train")"));
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], HasSubstr("pods/status"));
  EXPECT_THAT(lines_[0], HasSubstr("apply deploy/examples/manager.yaml again"));
  loop_.Advance(24h);
  EXPECT_THAT(watch_.missing(), SizeIs(1)) << "time gives no right back";
  EXPECT_THAT(lines_, SizeIs(1));
  EXPECT_EQ(PatchPod("train", 200, "{}"), Code::kOk);
  EXPECT_THAT(watch_.missing(), IsEmpty());
  EXPECT_EQ(restored_, 1);
  EXPECT_THAT(lines_, SizeIs(2));
}

TEST_F(RefusalWatchTest, ManyNamespacesAreOneLine) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  PatchPod("serve", 403, Forbidden(kPatchStatus));
  EXPECT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(watch_.missing(), ElementsAre(HasSubstr("and 1 more")));
}

// An Event that was refused is not written again, so that nobody else asks whether it may be.
TEST_F(RefusalWatchTest, WhenOneRightIsBackTheOthersAreAskedForAndStayUntilTheyAreAllowed) {
  Ask(Create(kEvents, "train", Json::MakeObject({})), 403,
      Forbidden(R"(create resource \"events\")"));
  PatchPod("train", 403, Forbidden(kPatchStatus));
  PatchPod("serve", 403, Forbidden(kPatchStatus));
  EXPECT_THAT(reviews_, IsEmpty()) << "it was denied just now";
  allowed_ = {"patch pods train", "patch pods serve"};
  PatchPod("train", 200, "{}");
  loop_.RunUntilIdle();
  EXPECT_THAT(reviews_, ElementsAre("create events train", "patch pods serve"));
  EXPECT_THAT(watch_.missing(), ElementsAre(HasSubstr("events")));
  EXPECT_EQ(restored_, 2);
  allowed_.insert("create events train");
  loop_.Advance(RefusalWatch::kAskEvery + 1s);
  EXPECT_THAT(watch_.missing(), IsEmpty());
  EXPECT_EQ(restored_, 3);
  reviews_.clear();
  loop_.Advance(1h);
  EXPECT_THAT(reviews_, IsEmpty()) << "nothing is missing";
}

TEST_F(RefusalWatchTest, ARightThatCameBackDuringAReviewIsNotAskedFor) {
  Ask(Create(kEvents, "train", Json::MakeObject({})), 403,
      Forbidden(R"(create resource \"events\")"));
  PatchPod("serve", 403, Forbidden(kPatchStatus));
  PatchPod("train", 403, Forbidden(kPatchStatus));
  reviews_wait_ = true;
  loop_.Advance(RefusalWatch::kAskEvery + 1s);
  const std::size_t review = api_.requests().size() - 1;
  reviews_wait_ = false;
  PatchPod("serve", 200, "{}");
  api_.Head(review, 201);
  api_.Data(review, R"({"status":{"allowed":false}})");
  api_.End(review);
  loop_.RunUntilIdle();
  EXPECT_THAT(reviews_, ElementsAre("patch pods train"));
}

TEST_F(RefusalWatchTest, AReviewSpeaksOfTheRightThatItAskedFor) {
  Ask(Create(kEvents, "train", Json::MakeObject({})), 403,
      Forbidden(R"(create resource \"events\")"));
  PatchPod("train", 403, Forbidden(kPatchStatus));
  allowed_ = {"create events train"};
  loop_.Advance(RefusalWatch::kAskEvery + 1s);
  EXPECT_THAT(watch_.missing(), ElementsAre(HasSubstr("pods/status")));
}

TEST_F(RefusalWatchTest, AReviewThatIsNotAnsweredLeavesARightMissing) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  PatchPod("serve", 403, Forbidden(kPatchStatus));
  allowed_ = {"patch pods train", "patch pods serve"};
  review_status_ = 403;
  loop_.Advance(RefusalWatch::kAskEvery + 1s);
  EXPECT_THAT(reviews_, SizeIs(1));
  EXPECT_THAT(watch_.missing(), SizeIs(1));
  review_status_ = 201;
  loop_.Advance(RefusalWatch::kAskEvery);
  EXPECT_THAT(watch_.missing(), IsEmpty());
}

TEST_F(RefusalWatchTest, RightsToReadListAndWatchAreDifferentOnes) {
  const auto denied = [](const std::string& verb) {
    return Forbidden(verb + R"( resource \"pods\" in API group \"\" at the cluster scope)");
  };
  Ask(List(kPods, "", {}), 403, denied("list"));
  Ask(Get(kPods, "train", "a"), 403, denied("get"));
  Ask(Watch(kPods, "", {}), 403, denied("watch"));
  EXPECT_THAT(watch_.missing(),
              ElementsAre(HasSubstr("get"), HasSubstr("list"), HasSubstr("watch")));
}

TEST_F(RefusalWatchTest, WhatIsRefusedForAnotherReasonIsNoMissingRight) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  // An admission webhook, and a namespace that is going: RBAC had let it pass.
  const std::string refused =
      R"({"kind":"Status","message":"admission webhook \"x\" denied the request: no","code":403})";
  EXPECT_EQ(PatchPod("train", 403, refused), Code::kPermissionDenied);
  EXPECT_THAT(watch_.missing(), IsEmpty());
}

TEST_F(RefusalWatchTest, OfALongRefusalOnlyTheBeginningIsRead) {
  const std::string refusal = Forbidden(kPatchStatus);
  constexpr std::size_t kRead = 8 * 1024;
  const auto call = client_.Do(Get(kPods, "train", "a"), [](const StatusOr<Json>&) {});
  api_.Head(0, 403);
  api_.Data(0,
            std::string(kRead - refusal.size() + 1, ' ') + refusal.substr(0, refusal.size() - 1));
  api_.Data(0, "}");
  api_.End(0);
  EXPECT_THAT(watch_.missing(), IsEmpty());
}

TEST_F(RefusalWatchTest, AServerInTroubleSaysNothingOfRights) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  PatchPod("train", 500, "");
  PatchPod("train", 401, "");
  EXPECT_THAT(watch_.missing(), SizeIs(1));
}

TEST_F(RefusalWatchTest, ACallMayBeGivenUpInTheMiddleOfARefusal) {
  auto call = client_.Do(Get(kPods, "train", "a"), [](const StatusOr<Json>&) {});
  loop_.RunUntilIdle();
  api_.Head(0, 403);
  call.reset();
  EXPECT_FALSE(api_.open(0));
  EXPECT_THAT(watch_.missing(), IsEmpty());
}

TEST(DeniedByRbac, KnowsItsPhrases) {
  EXPECT_EQ(DeniedByRbac(R"(pods "a" is forbidden: User "u" cannot patch resource "pods")"),
            R"(patch resource "pods")");
  EXPECT_EQ(DeniedByRbac("pods \"a\" is forbidden: you cannot"), "");
  EXPECT_EQ(DeniedByRbac(R"("x" cannot do this, User "y")"), "");
  EXPECT_EQ(DeniedByRbac(""), "");
}

TEST_F(RefusalWatchTest, AFurtherRefusalDoesNotPutOffTheQuestion) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  loop_.Advance(RefusalWatch::kAskEvery - 1s);
  PatchPod("train", 403, Forbidden(kPatchStatus));
  loop_.Advance(2s);
  EXPECT_THAT(reviews_, ElementsAre("patch pods train"));
}

TEST_F(RefusalWatchTest, ARightThatIsTakenASecondTimeIsLoggedAndAskedForAgain) {
  for (int round = 1; round <= 2; ++round) {
    allowed_.clear();
    PatchPod("train", 403, Forbidden(kPatchStatus));
    EXPECT_THAT(lines_, SizeIs(2 * round - 1));
    loop_.Advance(RefusalWatch::kAskEvery + 1s);
    EXPECT_THAT(watch_.missing(), SizeIs(1));
    allowed_ = {"patch pods train"};
    loop_.Advance(RefusalWatch::kAskEvery);
    EXPECT_THAT(watch_.missing(), IsEmpty()) << round;
    EXPECT_THAT(reviews_, SizeIs(2 * round));
    EXPECT_EQ(restored_, round);
  }
}

}  // namespace
}  // namespace galen::kube
