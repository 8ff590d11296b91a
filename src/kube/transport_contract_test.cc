// What the API's clients may rely on, whoever carries their requests: one suite, run on the
// transport over a socket to a server in this process and on the fake, so that tests above may
// trust the fake; and the same of what dials.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "base/files/fake_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_dialer.h"
#include "kube/fake_exec_runner.h"
#include "kube/transport.h"
#include "net/endpoint/server.h"
#include "net/fake_keeping_handler.h"
#include "net/fake_recording_sink.h"
#include "net/test_loop_runner.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

// A server on a TCP port of this machine's own address, which keeps requests until the test
// answers.
struct LoopbackServer {
  LoopbackServer() {
    auto started = net::Server::Start(runner.loop(), NullLog(), {.address = address}, handler);
    EXPECT_TRUE(started.ok()) << ToString(started.status());
    server = std::move(started).value();
    address = server->address();
  }
  void RunUntil(const std::function<bool()>& done) { runner.RunUntil(done); }
  void Settle() { runner.Settle(); }

  net::LoopRunner runner;
  net::KeepingHandler handler;
  std::string address = "tcp:127.0.0.1:0";
  std::unique_ptr<net::Server> server;
};

struct RealTransport : LoopbackServer {
  RealTransport() {
    transport = std::move(Transport::Create(runner.loop(), NullLog(), *dialer, files, exec,
                                            {.server = "http://" + address.substr(4)}))
                    .value();
  }
  net::HttpClient& client() { return *transport; }
  std::size_t arrived() const { return handler.exchanges.size(); }
  const net::HttpRequest& request(std::size_t number) {
    return handler.exchanges.at(number)->request();
  }
  void Head(std::size_t number, int status) { handler.exchanges.at(number)->Head(status, {}); }
  void Data(std::size_t number, const std::string& bytes) {
    handler.exchanges.at(number)->Write(bytes);
  }
  void End(std::size_t number) { handler.exchanges.at(number)->End(); }
  void BreakOff(std::size_t number) { handler.exchanges.at(number).reset(); }

  std::unique_ptr<net::Dialer> dialer = net::MakeDialer(runner.loop());
  FakeFileSystem files;
  FakeExecRunner exec;
  std::unique_ptr<Transport> transport;
};

struct ScriptedTransport {
  net::HttpClient& client() { return fake; }
  std::size_t arrived() const { return fake.requests().size(); }
  const net::HttpRequest& request(std::size_t number) { return fake.requests().at(number); }
  void Head(std::size_t number, int status) { fake.Head(number, status); }
  // A server may write to a client that has gone.
  void Data(std::size_t number, const std::string& bytes) {
    if (fake.open(number)) fake.Data(number, bytes);
  }
  void End(std::size_t number) {
    if (fake.open(number)) fake.End(number);
  }
  void BreakOff(std::size_t number) { fake.End(number, Unavailable("the stream was reset")); }
  void RunUntil(const std::function<bool()>& done) {
    loop.RunUntilIdle();
    EXPECT_TRUE(done());
  }
  void Settle() { loop.RunUntilIdle(); }

  FakeLoop loop;
  FakeTransport fake{loop};
};

// Gives its call up in one of its own calls.
class FickleSink final : public net::HttpResponseSink {
 public:
  enum class When { kAtHead, kAtData, kAtEnd };
  explicit FickleSink(When when) : when_(when) {}

  void OnHead(int, const net::Headers&) override { Note("head ", When::kAtHead); }
  void OnData(std::string_view) override { Note("data ", When::kAtData); }
  void OnEnd(const Status&, const net::Headers&) override { Note("end ", When::kAtEnd); }

  std::unique_ptr<net::HttpCall> call;
  std::string told;

 private:
  void Note(const std::string& what, When now) {
    told += what;
    if (now == when_) call.reset();
  }

  const When when_;
};

template <typename Way>
class TransportContract : public ::testing::Test {
 protected:
  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request, net::HttpResponseSink& sink) {
    auto call = way_.client().Send(std::move(request), sink);
    const std::size_t number = ++sent_;
    way_.RunUntil([&] { return way_.arrived() == number; });
    return call;
  }

  std::size_t sent_ = 0;
  net::RecordingSink sink_, other_;
  Way way_;
};

using Ways = ::testing::Types<RealTransport, ScriptedTransport>;
TYPED_TEST_SUITE(TransportContract, Ways);

TYPED_TEST(TransportContract, ARequestArrivesAsItWasSent) {
  const auto call = this->Send({.method = "PATCH",
                                .path = "/api/v1/pods/a?fieldManager=galen",
                                .headers = {{"content-type", "application/json"}},
                                .body = "{}"},
                               this->sink_);
  const net::HttpRequest& request = this->way_.request(0);
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.path, "/api/v1/pods/a?fieldManager=galen");
  EXPECT_EQ(net::FindHeader(request.headers, "content-type"), "application/json");
  EXPECT_EQ(request.body, "{}");
}

TYPED_TEST(TransportContract, AnAnswerComesAsItIsWrittenAndEndsOnce) {
  const auto call = this->Send({.path = "/watch"}, this->sink_);
  this->way_.Head(0, 201);
  this->way_.Data(0, "one ");
  this->way_.RunUntil([&] { return this->sink_.body() == "one "; });
  EXPECT_EQ(this->sink_.status(), 201);
  EXPECT_FALSE(this->sink_.ended());
  this->way_.Data(0, "two");
  this->way_.End(0);
  this->way_.RunUntil([&] { return this->sink_.ended(); });
  this->way_.Settle();
  EXPECT_EQ(this->sink_.body(), "one two");
  EXPECT_TRUE(this->sink_.end().ok());
  EXPECT_EQ(this->sink_.ends(), 1);
}

TYPED_TEST(TransportContract, AnAnswerThatBreaksOffEndsUnavailableAfterWhatCame) {
  const auto call = this->Send({.path = "/watch"}, this->sink_);
  this->way_.Head(0, 200);
  this->way_.Data(0, "half");
  this->way_.RunUntil([&] { return this->sink_.body() == "half"; });
  this->way_.BreakOff(0);
  this->way_.RunUntil([&] { return this->sink_.ended(); });
  EXPECT_EQ(this->sink_.end().code(), Code::kUnavailable) << ToString(this->sink_.end());
  EXPECT_EQ(this->sink_.body(), "half");
}

TYPED_TEST(TransportContract, ACallThatIsGivenUpHearsNothingAndTheOthersGoOn) {
  auto given_up = this->Send({.path = "/a"}, this->sink_);
  const auto call = this->Send({.path = "/b"}, this->other_);
  this->way_.Head(0, 200);
  this->way_.RunUntil([&] { return this->sink_.status() == 200; });
  given_up.reset();
  this->way_.Data(0, "late");
  this->way_.Head(1, 404);
  this->way_.Data(1, "b");
  this->way_.End(1);
  this->way_.RunUntil([&] { return this->other_.ended(); });
  this->way_.Settle();
  EXPECT_EQ(this->other_.status(), 404);
  EXPECT_EQ(this->other_.body(), "b");
  EXPECT_EQ(this->sink_.body(), "");
  EXPECT_FALSE(this->sink_.ended());
}

TYPED_TEST(TransportContract, WhoIsToldMayGiveTheCallUpAndHearsNoMore) {
  using When = FickleSink::When;
  std::size_t number = 0;
  for (const auto& [when, told] :
       {std::pair(When::kAtHead, "head "), std::pair(When::kAtData, "head data "),
        std::pair(When::kAtEnd, "head data end ")}) {
    FickleSink sink(when);
    sink.call = this->Send({.path = "/"}, sink);
    this->way_.Head(number, 200);
    this->way_.Data(number, "x");
    this->way_.End(number);
    this->way_.RunUntil([&] { return sink.call == nullptr; });
    this->way_.Settle();
    EXPECT_EQ(sink.told, told);
    ++number;
  }
}

TYPED_TEST(TransportContract, CallsEndInAnyOrder) {
  const auto first = this->Send({.path = "/a"}, this->sink_);
  const auto second = this->Send({.path = "/b"}, this->other_);
  this->way_.Head(1, 200);
  this->way_.End(1);
  this->way_.RunUntil([&] { return this->other_.ended(); });
  EXPECT_EQ(this->sink_.status(), 0);
  this->way_.Head(0, 200);
  this->way_.End(0);
  this->way_.RunUntil([&] { return this->sink_.ended(); });
}

struct RealDialer : LoopbackServer {
  std::string target() const { return address; }
  net::Dialer& dialer() { return *real; }
  void Refuse() { server.reset(); }
  void Lose() { server.reset(); }
  std::size_t arrived() const { return handler.exchanges.size(); }

  std::unique_ptr<net::Dialer> real = net::MakeDialer(runner.loop());
};

struct ScriptedDialer {
  std::string target() const { return "tcp:10.0.0.1:6443"; }
  net::Dialer& dialer() { return fake; }
  void Refuse() { fake.refusal = Unavailable("dial {}: connection refused", target()); }
  void Lose() {
    FakeServerConnection& connection = *fake.connections.at(0);
    connection.good = false;
    connection.closed(Unavailable("the server has gone"));
  }
  std::size_t arrived() const { return answers.requests().size(); }
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 1'000 && !done(); ++i) loop.Advance(1ms);
    EXPECT_TRUE(done());
  }
  void Settle() { loop.Advance(20ms); }

  FakeLoop loop;
  FakeTransport answers{loop};
  FakeDialer fake{loop, answers};
};

template <typename Place>
class DialerContract : public ::testing::Test {
 protected:
  void Dial() {
    dialling_ = place_.dialer().Dial({.target = place_.target()},
                                     [this](StatusOr<std::unique_ptr<net::Connection>> made) {
                                       ++told_;
                                       dialling_.reset();
                                       error_ = made.status();
                                       if (made.ok()) connection_ = std::move(made).value();
                                     });
    EXPECT_EQ(told_, 0) << "never inside of the call";
  }

  Place place_;
  std::unique_ptr<net::Connection> connection_;
  std::unique_ptr<net::Dialling> dialling_;
  int told_ = 0;
  Status error_;
};

using DialPlaces = ::testing::Types<RealDialer, ScriptedDialer>;
TYPED_TEST_SUITE(DialerContract, DialPlaces);

TYPED_TEST(DialerContract, TellsOnceAndLaterAndTheConnectionOutlivesItsDialling) {
  this->Dial();
  this->place_.RunUntil([&] { return this->told_ > 0; });
  ASSERT_NE(this->connection_, nullptr) << ToString(this->error_);
  EXPECT_TRUE(this->connection_->usable());
  net::RecordingSink sink;
  const auto call = this->connection_->Send({.path = "/"}, sink);
  this->place_.RunUntil([&] { return this->place_.arrived() == 1; });
  this->place_.Settle();
  EXPECT_EQ(this->told_, 1);
}

TYPED_TEST(DialerContract, TellsNobodyOfADialThatIsGivenUp) {
  this->Dial();
  this->dialling_.reset();
  this->place_.Settle();
  EXPECT_EQ(this->told_, 0);
}

TYPED_TEST(DialerContract, WhereNobodyListensItSaysSo) {
  this->place_.Refuse();
  this->Dial();
  this->place_.RunUntil([&] { return this->told_ > 0; });
  EXPECT_EQ(this->connection_, nullptr);
  EXPECT_EQ(this->error_.code(), Code::kUnavailable);
  EXPECT_TRUE(this->error_.message().starts_with("dial " + this->place_.target()))
      << ToString(this->error_);
}

TYPED_TEST(DialerContract, AConnectionThatIsLostSaysSoOnceAndMayGoThen) {
  this->Dial();
  this->place_.RunUntil([&] { return this->connection_ != nullptr; });
  Status why;
  int closed = 0;
  this->connection_->OnClosed([&](const Status& status) {
    ++closed;
    why = status;
    EXPECT_FALSE(this->connection_->usable());
    this->connection_.reset();
  });
  this->place_.Lose();
  this->place_.RunUntil([&] { return closed > 0; });
  this->place_.Settle();
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(why.code(), Code::kUnavailable) << ToString(why);
}

}  // namespace
}  // namespace galen::kube
