#include "kube/client.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"
#include "kube/request.h"
#include "kube/test_json.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

std::string StatusBody(int code, std::string_view reason, std::string_view message) {
  return Json::MakeObject({{"kind", "Status"},
                           {"apiVersion", "v1"},
                           {"status", "Failure"},
                           {"code", code},
                           {"reason", reason},
                           {"message", message}})
      .Dump();
}

class ClientTest : public testing::Test {
 protected:
  // Asks for a Pod and keeps what came of it.
  void Ask() {
    call_ = client_.Do(Get(kPods, "a", "p"), [this](StatusOr<Json> result) {
      EXPECT_FALSE(result_.has_value()) << "answered twice";
      result_ = std::move(result);
      call_.reset();
    });
  }
  std::string Result() const {
    if (!result_) return "nothing yet";
    return result_->ok() ? (*result_)->Dump() : ToString(result_->status());
  }

  FakeLoop loop_;
  FakeTransport transport_{loop_};
  Client client_{loop_, transport_};
  std::unique_ptr<net::HttpCall> call_;
  std::optional<StatusOr<Json>> result_;
};

TEST_F(ClientTest, GivesTheObjectThatTheServerSent) {
  transport_.AnswerNext({.body = R"({"kind":"Pod"})"});
  Ask();
  EXPECT_EQ(Result(), "nothing yet") << "an answer never comes before Do returns";
  loop_.RunUntilIdle();
  EXPECT_EQ(Result(), R"({"kind":"Pod"})");
}

TEST_F(ClientTest, PutsAnAnswerTogetherFromItsPieces) {
  Ask();
  transport_.Head(0);
  for (const char* piece : {"{\"a\"", ":", "1}"}) transport_.Data(0, piece);
  EXPECT_EQ(Result(), "nothing yet");
  transport_.End(0);
  EXPECT_EQ(Result(), R"({"a":1})");
}

TEST_F(ClientTest, AnEmptySuccessIsNull) {
  transport_.AnswerNext({.status = 204});
  Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(Result(), "null");
}

TEST_F(ClientTest, TurnsTheServersStatusIntoOurs) {
  transport_.AnswerNext(
      {.status = 404, .body = StatusBody(404, "NotFound", "pods \"p\" not found")});
  Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(Result(), "NotFound: pods \"p\" not found");
}

TEST_F(ClientTest, RepeatsAfterTheTimeTheServerNames) {
  transport_.AnswerNext({.status = 429, .headers = {{"retry-after", "3"}}});
  transport_.AnswerNext({.status = 503, .headers = {{"retry-after", "1"}}});
  transport_.AnswerNext({.body = "1"});
  Ask();
  loop_.Advance(2999ms);
  EXPECT_EQ(transport_.requests().size(), 1u);
  loop_.Advance(1ms);
  EXPECT_EQ(transport_.requests().size(), 2u);
  EXPECT_EQ(transport_.requests()[1], transport_.requests()[0]);
  loop_.Advance(1s);
  EXPECT_EQ(Result(), "1");
}

TEST_F(ClientTest, StopsRepeatingAfterABoundedNumber) {
  transport_.AnswerBy([](const net::HttpRequest&) {
    return FakeTransport::Answer{.status = 429, .headers = {{"retry-after", "1"}}};
  });
  Ask();
  loop_.Advance(Client::kDeadline);
  EXPECT_EQ(Result(), "ResourceExhausted: HTTP 429");
  EXPECT_EQ(transport_.requests().size(), 1u + Client::kRetriesMax);
}

TEST_F(ClientTest, DoesNotWaitForARepetitionPastItsDeadline) {
  transport_.AnswerNext({.status = 503, .headers = {{"retry-after", "3600"}}});
  Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(Result(), "Unavailable: HTTP 503");
}

TEST_F(ClientTest, LeavesARefusalWithoutATimeToItsCaller) {
  transport_.AnswerNext({.status = 503, .body = "down"});
  Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(Result(), "Unavailable: HTTP 503: down");
  EXPECT_EQ(transport_.requests().size(), 1u);
}

TEST_F(ClientTest, GivesUpAtTheDeadline) {
  Ask();
  loop_.Advance(Client::kDeadline - 1ns);
  EXPECT_EQ(Result(), "nothing yet");
  loop_.Advance(1ns);
  EXPECT_EQ(Result(), "DeadlineExceeded: GET /api/v1/namespaces/a/pods/p: no answer after 30 s");
  EXPECT_FALSE(transport_.open(0)) << "the request must be cancelled";
}

TEST_F(ClientTest, ATrickleDoesNotPutTheDeadlineOff) {
  Ask();
  transport_.Head(0);
  for (int i = 0; i < 29; ++i) {
    loop_.Advance(1s);
    transport_.Data(0, " ");
  }
  loop_.Advance(1s);
  EXPECT_EQ(Result(),
            "DeadlineExceeded: GET /api/v1/namespaces/a/pods/p: no whole answer after 30 s");
}

TEST_F(ClientTest, LeavesTheTransportsSentenceAsItIs) {
  transport_.AnswerNext({.status = 0, .end = Unavailable("cannot reach the API server")});
  Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(Result(), "Unavailable: cannot reach the API server");
}

TEST_F(ClientTest, AnAnswerThatIsCutOffIsNoAnswer) {
  transport_.AnswerNext({.body = "{}", .end = Unavailable("connection reset")});
  Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(result_->status().code(), Code::kUnavailable);
}

TEST_F(ClientTest, AnAnswerThatIsNoJsonIsReportedAsSuch) {
  transport_.AnswerNext({.body = "<html>"});
  Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(result_->status().code(), Code::kDataLoss);
  EXPECT_NE(Result().find("the answer is not JSON"), std::string::npos);
}

TEST_F(ClientTest, BoundsTheAnswersItKeeps) {
  Ask();
  transport_.Head(0);
  const std::string piece(1 << 20, ' ');
  for (std::size_t sent = 0; sent < Client::kResponseBytesMax; sent += piece.size()) {
    transport_.Data(0, piece);
  }
  EXPECT_EQ(Result(), "nothing yet");
  transport_.Data(0, " ");
  EXPECT_EQ(result_->status().code(), Code::kResourceExhausted);
  EXPECT_FALSE(transport_.open(0));
}

TEST_F(ClientTest, ACancelledCallSaysNothingMore) {
  transport_.AnswerNext({.status = 429, .headers = {{"retry-after", "1"}}});
  Ask();
  loop_.RunUntilIdle();
  call_.reset();
  loop_.Advance(1h);
  EXPECT_EQ(Result(), "nothing yet");
  EXPECT_EQ(transport_.requests().size(), 1u);
}

TEST(StatusOfResponse, GivesEachRefusalTheCodeThatSaysWhatToDo) {
  const std::pair<int, Code> expected[] = {
      {400, Code::kInvalidArgument},   {401, Code::kUnauthenticated},
      {403, Code::kPermissionDenied},  {404, Code::kNotFound},
      {405, Code::kUnimplemented},     {406, Code::kUnimplemented},
      {409, Code::kAborted},           {410, Code::kOutOfRange},
      {415, Code::kUnimplemented},     {422, Code::kInvalidArgument},
      {429, Code::kResourceExhausted}, {500, Code::kUnavailable},
      {502, Code::kUnavailable},       {503, Code::kUnavailable},
      {504, Code::kUnavailable},       {302, Code::kUnknown},
  };
  for (const auto& [status, code] : expected) {
    EXPECT_EQ(StatusOfResponse(status, "").code(), code) << status;
  }
}

TEST(StatusOfResponse, DistinguishesAnObjectThatIsThereFromALostRace) {
  EXPECT_EQ(StatusOfResponse(409, StatusBody(409, "AlreadyExists", "x")).code(),
            Code::kAlreadyExists);
  EXPECT_EQ(StatusOfResponse(409, StatusBody(409, "Conflict", "x")).code(), Code::kAborted);
}

TEST(StatusOfResponse, AnotherObjectsUidInAPatchIsAConflict) {
  const auto refused = [](const char* field) {
    Json body = JsonOf(StatusBody(422, "Invalid", "field is immutable"));
    body["details"]["causes"] = Json::MakeArray({Json::MakeObject({{"field", field}})});
    return StatusOfResponse(422, body.Dump()).code();
  };
  EXPECT_EQ(refused("metadata.uid"), Code::kAborted);
  EXPECT_EQ(refused("spec.nodeName"), Code::kInvalidArgument);
}

TEST(StatusOfResponse, ShowsForeignTextCutAndPrintable) {
  const Status status = StatusOfResponse(502, "<h1>\x1b[31mproxy\n" + std::string(10'000, 'x'));
  EXPECT_LT(status.message().size(), 250u);
  EXPECT_EQ(status.message().find('\x1b'), std::string::npos);
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
  EXPECT_TRUE(status.message().starts_with("HTTP 502: <h1>")) << status.message();
}

TEST(StatusOfResponse, FoldsTheServersLinesIntoOne) {
  EXPECT_EQ(
      StatusOfResponse(409, StatusBody(409, "Conflict", "2 conflicts:\n- .a\n- .b")).message(),
      "2 conflicts: - .a - .b");
  EXPECT_EQ(StatusOfResponse(403, StatusBody(403, "Forbidden", "")).message(),
            "HTTP 403 Forbidden");
}

TEST(StatusOfObject, ReadsTheCodeOfAWatchsError) {
  const Json expired = JsonOf(StatusBody(410, "Expired", "too old resource version: 1 (7)"));
  EXPECT_EQ(StatusOfObject(expired), Status(Code::kOutOfRange, "too old resource version: 1 (7)"));
}

}  // namespace
}  // namespace galen::kube
