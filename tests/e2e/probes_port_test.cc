// The probes' port of a real agent, which every Pod of the cluster reaches.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "net/fake_memory_stream.h"
#include "net/http2/test_http2_frames.h"
#include "net/socket/fd_stream.h"
#include "net/socket/socket.h"
#include "tests/e2e/fleet_stage.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;

// The resident memory of a process, as /proc/PID/status has it; 0 when it is not there.
std::size_t ResidentBytes(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6)) * 1024;
  }
  return 0;
}

// A client that is only bytes.
class Caller {
 public:
  Caller(IoLoop& loop, int port, const std::string& text) {
    const auto place = net::NumericSocketAddress("127.0.0.1", static_cast<std::uint16_t>(port));
    stream_ = net::MakeFdStream(loop, net::StartConnect(*place).value());
    stream_->SetSink(sink_);
    stream_->Write(text);
  }

  const std::string& answer() const { return sink_.received; }
  bool closed() const { return !sink_.closed.ok(); }
  // Whether all that was sent has been read: a PING at its end was answered, or the connection
  // closed.
  bool heard() const {
    for (const net::RawFrame& frame : net::DecodeFrames(sink_.received)) {
      if (frame.type == net::kPingFrame) return true;
    }
    return closed();
  }

 private:
  net::RecordingByteSink sink_;
  std::unique_ptr<net::ByteStream> stream_;
};

// An HPACK bomb (RFC 7541, section 7.3): the first request puts a field of 4,000 bytes into the
// table of the connection, and each byte 0xbe of a request is that field once more. No request
// ends, so the server has to keep what it has got of them: 64 kB for each 33 bytes.
std::string Bomb(int requests) {
  std::string bytes(net::kClientPreface);
  bytes += net::Encode({.type = net::kSettingsFrame});
  // GET, http, "/" and a host by the static table; section 6.2.1 and the length 4000 of 5.1.
  const std::string head = std::string("\x82\x86\x84\x01\x01") + "h";
  const std::string filler = std::string("\x40\x01x\x7f\xa1\x1e") + std::string(4000, 'a');
  for (int i = 0; i < requests; ++i) {
    const std::string fields = (i == 0 ? filler : "\xbe") + std::string(15, '\xbe');
    bytes += net::Encode({.type = net::kHeadersFrame,
                          .flags = net::kEndHeaders,
                          .stream = static_cast<std::uint32_t>(2 * i + 1),
                          .payload = head + fields});
  }
  return bytes + net::Encode({.type = net::kPingFrame, .payload = "has come"});
}

TEST(ProbesPort, BombOfCompressedHeadersTakesNoMemoryOfTheAgent) {
  FleetStage fleet;
  Stage& stage = fleet.stage();
  ASSERT_TRUE(fleet.serves());
  Program& agent = fleet.StartAgent({"--probes-address", "127.0.0.1:0"});
  const std::string said = "msg=\"probes are served\" address=tcp:127.0.0.1:";
  ASSERT_TRUE(stage.Until([&] { return agent.Log().find(said) != std::string::npos; }));
  const std::string log = agent.Log();
  const int port = std::stoi(log.substr(log.find(said) + said.size()));
  const auto ask = [&] {
    Caller caller(stage.loop(), port, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(stage.Until([&] { return caller.closed(); }));
    return caller.answer();
  };
  EXPECT_THAT(ask(), HasSubstr("200 OK"));
  const std::size_t before = ResidentBytes(agent.pid());

  std::vector<std::unique_ptr<Caller>> bombs;
  for (int i = 0; i < 4; ++i) {
    bombs.push_back(std::make_unique<Caller>(stage.loop(), port, Bomb(800)));
  }
  const auto heard = [](const auto& bomb) { return bomb->heard(); };
  ASSERT_TRUE(stage.Until([&] { return std::ranges::all_of(bombs, heard); }));
  // An eighth of what the agent may have altogether (deploy/galen.yaml).
  EXPECT_LT(ResidentBytes(agent.pid()), before + 16 * 1024 * 1024);
  EXPECT_THAT(ask(), HasSubstr("200 OK"));
}

}  // namespace
}  // namespace galen::e2e
