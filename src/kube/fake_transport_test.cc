#include "kube/fake_transport.h"

#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"

namespace galen::kube {
namespace {

// Records what a sink receives.
class Transcript final : public net::HttpResponseSink {
 public:
  void OnHead(int status, const net::Headers&) override { text += std::to_string(status) + " "; }
  void OnData(std::string_view bytes) override { text += std::string(bytes) + " "; }
  void OnEnd(const Status& status, const net::Headers&) override { text += ToString(status); }

  std::string text;
};

net::HttpRequest Asking(std::string path) {
  net::HttpRequest request;
  request.path = std::move(path);
  return request;
}

TEST(FakeTransport, GivesScriptedAnswersInOrderAndLater) {
  FakeLoop loop;
  FakeTransport transport(loop);
  Transcript first, second;
  transport.AnswerNext({.body = "a"});
  transport.AnswerNext({.status = 0, .end = Unavailable("gone")});
  const auto call_1 = transport.Send(Asking("/1"), first);
  const auto call_2 = transport.Send(Asking("/2"), second);
  EXPECT_EQ(first.text, "");
  loop.RunUntilIdle();
  EXPECT_EQ(first.text, "200 a OK");
  EXPECT_EQ(second.text, "Unavailable: gone");
  EXPECT_EQ(transport.last(), "GET /2");
  EXPECT_FALSE(transport.open(0));
}

TEST(FakeTransport, ACancelledCallHearsNothing) {
  FakeLoop loop;
  FakeTransport transport(loop);
  Transcript sink;
  transport.AnswerNext({.body = "a"});
  auto call = transport.Send({}, sink);
  EXPECT_TRUE(transport.open(0));
  call.reset();
  loop.RunUntilIdle();
  EXPECT_EQ(sink.text, "");
  EXPECT_FALSE(transport.open(0));
}

TEST(FakeTransport, ARequestWithoutAnAnswerStaysOpenForTheTest) {
  FakeLoop loop;
  FakeTransport transport(loop);
  Transcript sink;
  transport.AnswerBy([](const net::HttpRequest& request) {
    return request.path == "/x" ? std::optional(FakeTransport::Answer{.body = "x"}) : std::nullopt;
  });
  const auto call = transport.Send(Asking("/watch"), sink);
  loop.RunUntilIdle();
  transport.Head(0, 201);
  transport.Data(0, "b");
  transport.End(0);
  EXPECT_EQ(sink.text, "201 b OK");
}

}  // namespace
}  // namespace galen::kube
