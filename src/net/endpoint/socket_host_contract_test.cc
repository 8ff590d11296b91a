// What a program's sockets promise it, wherever they are: one suite, run on unix sockets and on the
// fake host, so that tests above may trust the fake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/test_temporary_directory.h"
#include "net/endpoint/fake_socket_place.h"
#include "net/endpoint/socket_keeper.h"
#include "net/fake_recording_sink.h"
#include "net/test_loop_runner.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;

// Sockets below a temporary directory.
struct UnixPlace {
  UnixPlace() { std::filesystem::create_directory(Path("d")); }
  std::string Path(const std::string& name) const { return directory.Path(name); }
  void RemoveFile(const std::string& path) { std::filesystem::remove(path); }
  void MakeDirectory(const std::string& path) { std::filesystem::create_directory(path); }
  void RunUntil(const std::function<bool()>& done) { runner.RunUntil(done); }
  void Settle() { runner.Settle(); }
  SocketHost& sockets() { return *host; }

  TemporaryDirectory directory;
  LoopRunner runner;
  std::unique_ptr<SocketHost> host = MakeSocketHost(runner.loop(), NullLog());
  std::unique_ptr<Dialer> dialer = MakeDialer(runner.loop());
};

// Names in a FakeNetwork.
struct MemoryPlace {
  std::string Path(const std::string& name) const { return "/" + name; }
  void RemoveFile(const std::string& path) { place.sockets.RemoveFile(path); }
  void MakeDirectory(const std::string&) {}
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 10'000 && !done(); ++i) place.loop.Advance(1ms);
    ASSERT_TRUE(done());
  }
  void Settle() { place.loop.Advance(20ms); }
  SocketHost& sockets() { return place.sockets; }

  FakeSocketPlace place;
  Dialer* dialer = place.dialer.get();
};

template <typename Place>
class SocketHostContract : public ::testing::Test {
 protected:
  std::unique_ptr<ListeningSocket> Listen(const std::string& path) {
    auto socket = place_.sockets().Listen(path, handler_);
    EXPECT_TRUE(socket.ok()) << ToString(socket.status());
    return socket.ok() ? std::move(*socket) : nullptr;
  }
  // nullptr when nobody lets us in.
  std::unique_ptr<Connection> Connect(const std::string& path) {
    std::unique_ptr<Connection> connection;
    bool ended = false;
    const auto dialling = place_.dialer->Dial({.target = "unix:" + path},
                                              [&](StatusOr<std::unique_ptr<Connection>> made) {
                                                ended = true;
                                                if (made.ok()) connection = std::move(*made);
                                              });
    place_.RunUntil([&] { return ended; });
    return connection;
  }

  Place place_;
  KeepingHandler handler_;
  const std::string directory_ = place_.Path("d");
  const std::string path_ = directory_ + "/dra.sock";
};

using SocketPlaces = ::testing::Types<UnixPlace, MemoryPlace>;
TYPED_TEST_SUITE(SocketHostContract, SocketPlaces);

TYPED_TEST(SocketHostContract, LeavesALivingSocketToItsOwner) {
  const auto first = this->Listen(this->path_);
  EXPECT_TRUE(first->InPlace());
  EXPECT_EQ(this->place_.sockets().Listen(this->path_, this->handler_).status().code(),
            Code::kAlreadyExists);
  EXPECT_TRUE(first->InPlace());
  EXPECT_NE(this->Connect(this->path_), nullptr);
}

TYPED_TEST(SocketHostContract, KnowsWhenItsFileIsGoneOrAnothers) {
  auto first = this->Listen(this->path_);
  this->place_.RemoveFile(this->path_);
  EXPECT_FALSE(first->InPlace());
  EXPECT_EQ(this->Connect(this->path_), nullptr);
  const auto second = this->Listen(this->path_);
  EXPECT_FALSE(first->InPlace());
  EXPECT_TRUE(second->InPlace());
  first.reset();
  EXPECT_TRUE(second->InPlace()) << "closing the old one must not take the new one's file";
  EXPECT_NE(this->Connect(this->path_), nullptr);
}

TYPED_TEST(SocketHostContract, ARemovedFileTakesNoConnectionAway) {
  auto socket = this->Listen(this->path_);
  const auto connection = this->Connect(this->path_);
  this->place_.RemoveFile(this->path_);
  RecordingSink sink;
  const auto call = connection->Send({.path = "/after"}, sink);
  this->place_.RunUntil([&] { return !this->handler_.exchanges.empty(); });
  Respond(*this->handler_.exchanges[0], 200, "text/plain", "still here");
  this->place_.RunUntil([&] { return sink.ended(); });
  EXPECT_EQ(sink.body(), "still here");
  socket.reset();
  this->place_.RunUntil([&] { return !connection->usable(); });
}

TYPED_TEST(SocketHostContract, ClosingItEndsItsConnectionsAndNotThoseOfTheNextOne) {
  auto old = this->Listen(this->path_);
  const auto to_old = this->Connect(this->path_);
  this->place_.RemoveFile(this->path_);
  KeepingHandler next_handler;
  const auto next = this->place_.sockets().Listen(this->path_, next_handler);
  ASSERT_TRUE(next.ok());
  const auto to_next = this->Connect(this->path_);
  old.reset();
  this->place_.RunUntil([&] { return !to_old->usable(); });
  this->place_.Settle();
  EXPECT_TRUE(to_next->usable());
}

TYPED_TEST(SocketHostContract, WhileItDrainsNobodyNewComesAndAnswersUnderWayArrive) {
  auto socket = this->Listen(this->path_);
  const auto connection = this->Connect(this->path_);
  RecordingSink sink;
  const auto call = connection->Send({.path = "/slow"}, sink);
  this->place_.RunUntil([&] { return !this->handler_.exchanges.empty(); });
  bool drained = false;
  socket->Drain(5s, [&] { drained = true; });
  EXPECT_FALSE(drained) << "never from inside the call";
  EXPECT_FALSE(socket->InPlace());
  EXPECT_EQ(this->place_.sockets().MarkOf(this->path_), std::nullopt);
  EXPECT_EQ(this->Connect(this->path_), nullptr);
  Respond(*this->handler_.exchanges[0], 200, "text/plain", "in time");
  this->place_.RunUntil([&] { return sink.ended(); });
  EXPECT_EQ(sink.body(), "in time");
  this->place_.RunUntil([&] { return drained; });
}

TYPED_TEST(SocketHostContract, OneThatDrainsLeavesItsPlaceToAnother) {
  auto old = this->Listen(this->path_);
  bool drained = false;
  old->Drain(5s, [&] { drained = true; });
  const auto next = this->Listen(this->path_);
  this->place_.RunUntil([&] { return drained; });
  old.reset();
  EXPECT_TRUE(next->InPlace());
  EXPECT_NE(this->Connect(this->path_), nullptr);
}

TYPED_TEST(SocketHostContract, MarksTellASocketFromTheOneBeforeIt) {
  SocketHost& sockets = this->place_.sockets();
  EXPECT_EQ(sockets.MarkOf(this->path_), std::nullopt);
  auto first = this->Listen(this->path_);
  const auto mark = sockets.MarkOf(this->path_);
  ASSERT_TRUE(mark);
  EXPECT_EQ(sockets.MarkOf(this->path_), mark);
  first.reset();
  EXPECT_EQ(sockets.MarkOf(this->path_), std::nullopt);
  const auto second = this->Listen(this->path_);
  EXPECT_NE(sockets.MarkOf(this->path_), mark);
}

TYPED_TEST(SocketHostContract, OnlyASocketBesideItsOwnCountsAsAnother) {
  SocketHost& sockets = this->place_.sockets();
  EXPECT_FALSE(sockets.OthersListen(this->directory_, this->path_));
  const auto own = this->Listen(this->path_);
  EXPECT_FALSE(sockets.OthersListen(this->directory_, this->path_));
  this->place_.MakeDirectory(this->directory_ + "/below");
  const auto below = this->Listen(this->directory_ + "/below/other.sock");
  EXPECT_FALSE(sockets.OthersListen(this->directory_, this->path_));
  auto other = this->Listen(this->directory_ + "/other.sock");
  EXPECT_TRUE(sockets.OthersListen(this->directory_, this->path_));
  other.reset();
  EXPECT_FALSE(sockets.OthersListen(this->directory_, this->path_));
  EXPECT_FALSE(sockets.OthersListen(this->place_.Path("none"), this->path_));
}

TYPED_TEST(SocketHostContract, AWatchIsNotifiedFromTheLoopOfWhatComesAndGoes) {
  int notices = 0;
  auto watch = this->place_.sockets().Watch(this->directory_, [&] { ++notices; });
  ASSERT_TRUE(watch.ok()) << ToString(watch.status());
  this->place_.Settle();
  notices = 0;
  auto socket = this->Listen(this->path_);
  EXPECT_EQ(notices, 0) << "never from inside a call";
  this->place_.RunUntil([&] { return notices > 0; });
  this->place_.Settle();
  notices = 0;
  socket.reset();
  this->place_.RunUntil([&] { return notices > 0; });
  this->place_.Settle();
  notices = 0;
  watch->reset();
  const auto unseen = this->Listen(this->path_);
  this->place_.Settle();
  EXPECT_EQ(notices, 0) << "it was destroyed";
}

TYPED_TEST(SocketHostContract, AWatchKnowsNothingOfADirectoryBesideItsOwn) {
  this->place_.MakeDirectory(this->directory_ + "d");
  int notices = 0;
  const auto watch = this->place_.sockets().Watch(this->directory_, [&] { ++notices; });
  ASSERT_TRUE(watch.ok());
  this->place_.Settle();
  notices = 0;
  const auto elsewhere = this->Listen(this->directory_ + "d/dra.sock");
  this->place_.Settle();
  EXPECT_EQ(notices, 0);
}

}  // namespace
}  // namespace galen::net
