#include "kube/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "base/loop/fake_loop.h"
#include "kube/client.h"
#include "kube/fake_transport.h"
#include "kube/request.h"

namespace galen::agent {
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

class PermissionsTest : public ::testing::Test {
 protected:
  PermissionsTest()
      : log_(
            LogLevel::kInfo, [this] { return loop_.WallNow(); },
            [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }) {
    permissions_.OnRestored([this] { ++restored_; });
    // Whoever asks for itself whether it may.
    api_.AnswerBy(
        [this](const net::HttpRequest& request) -> std::optional<kube::FakeTransport::Answer> {
          if (!request.path.ends_with("/selfsubjectaccessreviews")) return std::nullopt;
          const Json review = Json::Parse(request.body).value();
          const Json& what = review["spec"]["resourceAttributes"];
          reviews_.push_back(what["verb"].AsString() + " " + what["resource"].AsString() + " " +
                             what["namespace"].AsString());
          return kube::FakeTransport::Answer{.status = review_status_,
                                             .body = allowed_.contains(reviews_.back())
                                                         ? R"({"status":{"allowed":true}})"
                                                         : R"({"status":{"allowed":false}})"};
        });
  }

  // One request, answered with this; returns what its sender received.
  Code Ask(net::HttpRequest request, int status, std::string body) {
    api_.AnswerNext({.status = status, .body = std::move(body)});
    std::optional<Status> heard;
    const auto call = client_.Do(std::move(request),
                                 [&](const StatusOr<Json>& reply) { heard = reply.status(); });
    loop_.RunUntilIdle();
    EXPECT_TRUE(heard) << "no answer";
    return heard.value_or(OkStatus()).code();
  }
  Code PatchPod(const std::string& ns, int status, std::string body) {
    return Ask(kube::Patch(kube::kPods, ns, "a", kube::PatchType::kStrategic, Json::MakeObject({}),
                           {.subresource = "status"}),
               status, std::move(body));
  }

  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_;
  kube::FakeTransport api_{loop_};
  Permissions permissions_{loop_, log_, api_, "deploy/examples/manager.yaml"};
  kube::Client client_{loop_, permissions_};
  int restored_ = 0;
  int review_status_ = 201;
  std::set<std::string> allowed_;
  std::vector<std::string> reviews_;
};

TEST_F(PermissionsTest, ARightThatIsMissingIsToldOnceAndForAsLongAsItIsMissing) {
  EXPECT_THAT(permissions_.missing(), IsEmpty());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(PatchPod("train", 403, Forbidden(kPatchStatus)), Code::kPermissionDenied);
  }
  EXPECT_THAT(
      permissions_.missing(),
      ElementsAre(R"(patch resource "pods/status" in API group "" in the namespace "train")"));
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], HasSubstr("pods/status"));
  EXPECT_THAT(lines_[0], HasSubstr("apply deploy/examples/manager.yaml again"));
  loop_.Advance(24h);
  EXPECT_THAT(permissions_.missing(), SizeIs(1)) << "time gives no right back";
  EXPECT_THAT(lines_, SizeIs(1));
  EXPECT_EQ(PatchPod("train", 200, "{}"), Code::kOk);
  EXPECT_THAT(permissions_.missing(), IsEmpty());
  EXPECT_EQ(restored_, 1);
  EXPECT_THAT(lines_, SizeIs(2));
}

TEST_F(PermissionsTest, ManyNamespacesAreOneLine) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  PatchPod("serve", 403, Forbidden(kPatchStatus));
  EXPECT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(permissions_.missing(), ElementsAre(HasSubstr("and 1 more")));
}

// An Event that was refused is not written again, so that nobody else asks whether it may be.
TEST_F(PermissionsTest, WhenOneRightIsBackTheOthersAreAskedForAndStayUntilTheyAreAllowed) {
  Ask(kube::Create(kube::kEvents, "train", Json::MakeObject({})), 403,
      Forbidden(R"(create resource \"events\")"));
  PatchPod("train", 403, Forbidden(kPatchStatus));
  PatchPod("serve", 403, Forbidden(kPatchStatus));
  EXPECT_THAT(reviews_, IsEmpty()) << "it was told just now";
  allowed_ = {"patch pods train", "patch pods serve"};
  PatchPod("train", 200, "{}");
  loop_.RunUntilIdle();
  EXPECT_THAT(reviews_, ElementsAre("create events train", "patch pods serve"));
  EXPECT_THAT(permissions_.missing(), ElementsAre(HasSubstr("events")));
  EXPECT_EQ(restored_, 2);
  allowed_.insert("create events train");
  loop_.Advance(Permissions::kAskEvery + 1s);
  EXPECT_THAT(permissions_.missing(), IsEmpty());
  EXPECT_EQ(restored_, 3);
  reviews_.clear();
  loop_.Advance(1h);
  EXPECT_THAT(reviews_, IsEmpty()) << "nothing is missing";
}

TEST_F(PermissionsTest, AReviewThatIsNotAnsweredLeavesARightMissing) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  PatchPod("serve", 403, Forbidden(kPatchStatus));
  allowed_ = {"patch pods train", "patch pods serve"};
  review_status_ = 403;
  loop_.Advance(Permissions::kAskEvery + 1s);
  EXPECT_THAT(reviews_, SizeIs(1));
  EXPECT_THAT(permissions_.missing(), SizeIs(1));
  review_status_ = 201;
  loop_.Advance(Permissions::kAskEvery);
  EXPECT_THAT(permissions_.missing(), IsEmpty());
}

TEST_F(PermissionsTest, RightsToReadListAndWatchAreDifferentOnes) {
  const auto denied = [](const std::string& verb) {
    return Forbidden(verb + R"( resource \"pods\" in API group \"\" at the cluster scope)");
  };
  Ask(kube::List(kube::kPods, "", {}), 403, denied("list"));
  Ask(kube::Get(kube::kPods, "train", "a"), 403, denied("get"));
  Ask(kube::Watch(kube::kPods, "", {}), 403, denied("watch"));
  EXPECT_THAT(permissions_.missing(),
              ElementsAre(HasSubstr("get"), HasSubstr("list"), HasSubstr("watch")));
}

TEST_F(PermissionsTest, WhatIsRefusedForAnotherReasonIsNoMissingRight) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  // An admission webhook, and a namespace that is going: RBAC had let it pass.
  const std::string refused =
      R"({"kind":"Status","message":"admission webhook \"x\" denied the request: no","code":403})";
  EXPECT_EQ(PatchPod("train", 403, refused), Code::kPermissionDenied);
  EXPECT_THAT(permissions_.missing(), IsEmpty());
}

TEST_F(PermissionsTest, AServerInTroubleSaysNothingOfRights) {
  PatchPod("train", 403, Forbidden(kPatchStatus));
  PatchPod("train", 500, "");
  PatchPod("train", 401, "");
  EXPECT_THAT(permissions_.missing(), SizeIs(1));
}

TEST_F(PermissionsTest, ACallMayBeGivenUpInTheMiddleOfARefusal) {
  auto call = client_.Do(kube::Get(kube::kPods, "train", "a"), [](const StatusOr<Json>&) {});
  loop_.RunUntilIdle();
  api_.Head(0, 403);
  call.reset();
  EXPECT_FALSE(api_.open(0));
  EXPECT_THAT(permissions_.missing(), IsEmpty());
}

TEST(DeniedByRbac, KnowsItsWords) {
  EXPECT_EQ(DeniedByRbac(R"(pods "a" is forbidden: User "u" cannot patch resource "pods")"),
            R"(patch resource "pods")");
  EXPECT_EQ(DeniedByRbac("pods \"a\" is forbidden: you cannot"), "");
  EXPECT_EQ(DeniedByRbac(R"("x" cannot do this, User "y")"), "");
  EXPECT_EQ(DeniedByRbac(""), "");
}

}  // namespace
}  // namespace galen::agent
