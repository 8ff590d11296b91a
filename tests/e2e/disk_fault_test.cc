// Stories of the agent's disk and clocks, and of a driver's disk, with real processes: what cannot
// be recorded is published all the same, and what was kept whole is believed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "net/fake_memory_stream.h"
#include "net/socket/fd_stream.h"
#include "net/socket/socket.h"
#include "tests/e2e/fault_stage.h"
#include "tests/e2e/own_mounts.h"

namespace galen::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

// With the room that galen doctor asks for.
constexpr std::size_t kDiskBytes = std::size_t{40} << 20;

class DiskFault : public ::testing::Test {
 protected:
  // The newest segment of the journal.
  std::string Segment() {
    std::string newest;
    for (const auto& entry : fs::directory_iterator(node_.Path("agent/journal"))) {
      if (entry.path().extension() == ".segment") newest = std::max(newest, entry.path().string());
    }
    return newest;
  }
  std::string ReadSegment() { return node_.stage().Read(Segment().substr(node_.Path("").size())); }
  void WriteSegment(const std::string& bytes) {
    node_.stage().Write(Segment().substr(node_.Path("").size()), bytes);
  }
  // A GPU is lost, recorded and published; then the agent is killed.
  std::string LoseGpuAndKillAgent() {
    const std::string lost = node_.LoseGpu();
    node_.ExpectWhy(kTrainer, {"gpu-0   Unhealthy since ", "recorded", "published"});
    node_.End(node_.agent(), SIGKILL);
    return lost;
  }
  void ExpectLostSince(const std::string& lost) {
    node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since " + lost.substr(0, 19) + "Z", "XID 79"});
    node_.ExpectWhy(kTrainer, {"gpu-0   Unhealthy since ", "agent-started"});
    EXPECT_EQ(node_.SinceOf(kTrainer), lost);
  }
  // The disk takes bytes again: the next change finds that out, and a new agent what was kept.
  void ExpectNextChangeWritesJournal(const std::string& lost) {
    const Outcome another = node_.Galen({"inject", "gpu-1", "xid=79", "--driver", kDriver});
    EXPECT_EQ(another.exit_code, 0) << another.error;
    EXPECT_TRUE(node_.stage().Until(
        [&] { return node_.agent().Log().find("journal is written again") != std::string::npos; }));
    node_.End(node_.agent(), SIGKILL);
    node_.StartAgent();
    ExpectLostSince(lost);
  }

  // A Pod whose container writes without end, without a device.
  void MakeWriter(const std::string& name) {
    node_.fleet().Create(kube::kPods, "default",
                         "{metadata: {name: " + name +
                             "}, spec: {containers: [{name: main, image: none, command: [sh, -c, "
                             "'while :; do echo a line; sleep 0.01; done']}]}}");
  }
  bool Runs(const std::string& pod) {
    return node_.Pod(pod)["status"]["containerStatuses"][0]["state"].Has("running");
  }
  // Bytes of its container's log.
  std::size_t Output(const std::string& pod) {
    std::error_code none;
    const std::string directory =
        "default_" + pod + "_" + node_.Pod(pod)["metadata"]["uid"].AsString();
    const auto size = fs::file_size(node_.Path("agent/pods/" + directory + "/main/log"), none);
    return none ? 0 : static_cast<std::size_t>(size);
  }
  // What a program answers its probe within 2 s, on the port that it said with this message.
  std::string Health(Program& program, const std::string& message) {
    const std::string said = "msg=\"" + message + "\" address=tcp:127.0.0.1:";
    const std::string log = program.Log();
    const std::size_t at = log.find(said);
    if (at == std::string::npos) return "no port";
    const int port = std::stoi(log.substr(at + said.size()));
    net::RecordingByteSink sink;
    const auto place = net::NumericSocketAddress("127.0.0.1", static_cast<std::uint16_t>(port));
    const auto stream = net::MakeFdStream(node_.stage().loop(), net::StartConnect(*place).value());
    stream->SetSink(sink);
    stream->Write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    node_.stage().Until([&] { return sink.received.ends_with("ok\n"); }, std::chrono::seconds(2));
    return sink.received;
  }

  FaultStage node_;
};

TEST_F(DiskFault, FullDelaysNoReportAndIsWrittenAgainOnceThereIsRoom) {
  if (const Status own = EnterOwnMounts(); !own.ok()) {
    GTEST_SKIP() << "a full disk: " << own.message();
  }
  SmallDisk disk(node_.Path("agent"), kDiskBytes);
  ASSERT_TRUE(node_.Up());
  disk.Fill();
  // The last page of a file has room for a few more records.
  EXPECT_TRUE(node_.stage().Until([&] {
    node_.Galen({"inject", "gpu-1", "xid=79", "--driver", kDriver});
    node_.Galen({"inject", "gpu-1", "reset=host", "--driver", kDriver});
    return node_.agent().Log().find("journal cannot be written") != std::string::npos;
  }));
  const std::string lost = node_.LoseGpu();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  node_.ExpectDoctor({"agent.troubles", "journal: ", "No space left on device", "host.disk-space"});

  disk.MakeRoom();
  ExpectNextChangeWritesJournal(lost);
  EXPECT_THAT(node_.Steps(kTrainer, "change"),
              ElementsAre("Unknown → Healthy", "Healthy → Unhealthy, XidGpuLost"))
      << "what waited for room is kept";
  node_.ExpectBystanderUntouched();
}

TEST_F(DiskFault, FrozenDelaysNoReportAndIsSaidInTheJournalOnceItGoesOn) {
  if (const Status own = EnterOwnMounts(); !own.ok()) {
    GTEST_SKIP() << "a frozen disk: " << own.message();
  }
  auto mounted = FreezableDisk::Mount(node_.Path("agent"), kDiskBytes);
  if (!mounted.ok()) GTEST_SKIP() << "a frozen disk: " << mounted.status().message();
  const std::unique_ptr<FreezableDisk> disk = *std::move(mounted);
  ASSERT_TRUE(node_.Up());
  node_.ExpectWhy(kTrainer, {"recorded", "published"});
  disk->Freeze();
  const std::string lost = node_.LoseGpu();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  node_.ExpectWhy(kTrainer,
                  {"gpu-0   Unhealthy since ", "published",
                   "The agent has a problem: journal: the disk takes longer than 250 ms"});

  disk->GoOn();
  EXPECT_TRUE(node_.stage().Until(
      [&] { return node_.agent().Log().find("journal is written again") != std::string::npos; }));
  node_.ExpectWhy(kTrainer, {"journal, after it was published"});
  EXPECT_TRUE(node_.stage().Until(
      [&] { return ReadSegment().find("\"late\":true") != std::string::npos; }));
  node_.End(node_.agent(), SIGKILL);
  node_.StartAgent();
  ExpectLostSince(lost);
  node_.ExpectWhy(kTrainer, {"journal, after it was published"});
  EXPECT_THAT(node_.Steps(kTrainer, "change"),
              ElementsAre("Unknown → Healthy", "Healthy → Unhealthy, XidGpuLost"));
  node_.ExpectBystanderUntouched();
}

// A manager whose containers write to the disk that hangs, and want directories on it.
TEST_F(DiskFault, FrozenUnderContainersHoldsUpThePodsThatWaitForItAndNothingElse) {
  if (const Status own = EnterOwnMounts(); !own.ok()) {
    GTEST_SKIP() << "a frozen disk: " << own.message();
  }
  auto mounted = FreezableDisk::Mount(node_.Path("agent"), kDiskBytes);
  if (!mounted.ok()) GTEST_SKIP() << "a frozen disk: " << mounted.status().message();
  const std::unique_ptr<FreezableDisk> disk = *std::move(mounted);
  node_.Configure(
      "containers: processes\nprocessesAsRoot: true\nprobesAddress: 127.0.0.1:0\ncdiRoot: " +
      node_.Path("cdi") + "\n");
  ASSERT_TRUE(node_.Up());
  MakeWriter("writer");
  ASSERT_TRUE(node_.stage().Until([&] { return Output("writer") > 0; })) << node_.agent().Log();

  disk->Freeze();
  node_.Let(std::chrono::seconds(2));  // until what a write may wait for is over
  const std::size_t before = Output("writer");
  MakeWriter("late");
  node_.LoseGpu();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  EXPECT_THAT(Health(node_.agent(), "probes are served"), HasSubstr("200 OK"));
  node_.ExpectDoctor(
      {"containers: default/late cannot be run: its directory waits for the disk, which hangs"});
  EXPECT_THAT(Health(node_.agent(), "probes are served"), HasSubstr("200 OK"));
  EXPECT_FALSE(Runs("late"));
  EXPECT_TRUE(Runs("writer"));
  EXPECT_EQ(Output("writer"), before);

  disk->GoOn();
  EXPECT_TRUE(node_.stage().Until([&] { return Runs("late") && Output("late") > 0; }));
  EXPECT_TRUE(node_.stage().Until([&] { return Output("writer") > before; }));
  node_.ExpectBystanderUntouched();
}

// What a driver has found is on the disk; its sockets and claims are elsewhere.
TEST_F(DiskFault, FrozenUnderADriverDelaysNoFaultAndAllIsKeptOnceItGoesOn) {
  if (const Status own = EnterOwnMounts(); !own.ok()) {
    GTEST_SKIP() << "a frozen disk: " << own.message();
  }
  auto mounted = FreezableDisk::Mount(node_.Path("found"), kDiskBytes);
  if (!mounted.ok()) GTEST_SKIP() << "a frozen disk: " << mounted.status().message();
  const std::unique_ptr<FreezableDisk> disk = *std::move(mounted);
  node_.DriverFlags({"--state-dir", node_.Path("found"), "--metrics-address", "127.0.0.1:0"});
  ASSERT_TRUE(node_.Up());

  disk->Freeze();
  const std::string lost = node_.LoseGpu();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  EXPECT_EQ(node_.SinceOf(kTrainer), lost);
  EXPECT_THAT(node_.driver().Log(), HasSubstr("the disk takes longer than 250 ms"));
  EXPECT_THAT(Health(node_.driver(), "metrics are served"), HasSubstr("200 OK"));
  const Outcome another = node_.Galen({"inject", "gpu-1", "xid=79", "--driver", kDriver});
  EXPECT_EQ(another.exit_code, 0) << another.error;
  EXPECT_TRUE(node_.stage().Until([&] {
    const std::string devices = node_.Galen({"get", "devices"}).output;
    const std::size_t first = devices.find(" Unhealthy ");
    return first != std::string::npos &&
           devices.find(" Unhealthy ", first + 1) != std::string::npos;
  }));

  disk->GoOn();
  EXPECT_TRUE(node_.stage().Until([&] {
    return node_.driver().Log().find("state file is written again") != std::string::npos;
  }));
  node_.End(node_.driver(), SIGTERM);
  node_.StartDriver();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  EXPECT_EQ(node_.SinceOf(kTrainer), lost);
  node_.ExpectBystanderUntouched();
}

TEST_F(DiskFault, ReadOnlyWhenTheAgentStartsDelaysNoReport) {
  if (const Status own = EnterOwnMounts(); !own.ok()) {
    GTEST_SKIP() << "a read-only disk: " << own.message();
  }
  SmallDisk disk(node_.Path("agent"), kDiskBytes);
  ASSERT_TRUE(node_.Up());
  node_.End(node_.agent(), SIGKILL);
  disk.SetReadOnly(true);
  node_.StartAgent();
  const std::string lost = node_.LoseGpu();
  ExpectLostSince(lost);
  node_.ExpectDoctor(
      {"agent.troubles", "journal: ", "Read-only file system", "host.disk-writable"});

  disk.SetReadOnly(false);
  ExpectNextChangeWritesJournal(lost);
  node_.ExpectBystanderUntouched();
}

TEST_F(DiskFault, BytesThatFlippedInTheJournalAreSetAsideAndWhatIsBeforeThemIsBelieved) {
  ASSERT_TRUE(node_.Up());
  const std::string lost = LoseGpuAndKillAgent();
  std::string bytes = ReadSegment();
  const std::size_t at = bytes.find("XidGpuLost");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 4, "\xff\x00\xff\x00", 4);
  WriteSegment(bytes);

  node_.StartAgent();
  // The driver still knows since when.
  ExpectLostSince(lost);
  EXPECT_TRUE(fs::exists(node_.Path("agent/journal/00000001.segment.corrupt-1")));
  EXPECT_THAT(node_.agent().Log(), HasSubstr("corrupt"));
  node_.ExpectDoctor({"agent.journal", "corrupt-1"});
  node_.ExpectBystanderUntouched();
}

TEST_F(DiskFault, TornEndOfTheJournalCostsItsLastRecordOnly) {
  ASSERT_TRUE(node_.Up());
  const std::string lost = LoseGpuAndKillAgent();
  const std::string bytes = ReadSegment();
  WriteSegment(bytes.substr(0, bytes.size() - 5));

  node_.StartAgent();
  ExpectLostSince(lost);
  EXPECT_THAT(node_.Steps(kTrainer, "change"),
              ElementsAre("Unknown → Healthy", "Healthy → Unhealthy, XidGpuLost"));
  EXPECT_TRUE(fs::exists(node_.Path("agent/journal/00000001.segment.corrupt-1")));
  node_.ExpectDoctor({"agent.journal", "corrupt-1"});
  node_.ExpectBystanderUntouched();
}

// A time namespace moves the clock that deadlines go by. What the time of day says cannot be given
// to one process; that the agent keeps times of day and no others over a restart is what this
// shows.
TEST_F(DiskFault, ClockOfDeadlinesThatIsADayBackAfterARestartChangesNothing) {
  const std::vector<std::string> ahead = {"/usr/bin/unshare", "--time", "--monotonic", "86400"};
  std::vector<std::string> trial = ahead;
  trial.insert(trial.end(), {"readlink", "/proc/self/ns/time"});
  const Outcome tried = node_.stage().Run(trial);
  // Kernels before 6.1 move only what is forked, which has another process id.
  if (tried.exit_code != 0 ||
      tried.output.starts_with(fs::read_symlink("/proc/self/ns/time").string())) {
    GTEST_SKIP() << "a clock that is ahead: " << tried.error << tried.output;
  }
  node_.Configure("timeouts: [{driver: gpu.example.com, timeout: 2s}]\n");
  node_.DriverFlags({"--health-timeout", "1s"});
  node_.AgentRunner(ahead);
  ASSERT_TRUE(node_.Up());
  const std::string lost = node_.LoseGpu();
  node_.ExpectWhy(kTrainer, {"gpu-0   Unhealthy since ", "recorded", "published"});
  node_.End(node_.agent(), SIGTERM);

  node_.AgentRunner({});
  node_.StartAgent();
  ExpectLostSince(lost);
  EXPECT_THAT(node_.Steps(kTrainer, "change"),
              ElementsAre("Unknown → Healthy", "Healthy → Unhealthy, XidGpuLost"));
  // Deadlines count by the new clock.
  node_.Pause(node_.driver());
  node_.ExpectSays(kTrainer, {"gpu-0 Unknown since ", "no report for 2 s"});
  node_.Resume(node_.driver());
  ExpectLostSince(lost);
  node_.ExpectBystanderUntouched();
}

}  // namespace
}  // namespace galen::e2e
