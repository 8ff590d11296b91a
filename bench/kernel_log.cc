// A line of the kernel's log → the Pod, alone and among ten thousand other lines a second.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "bench/manifest.h"
#include "bench/parts.h"
#include "bench/process_use.h"

namespace galen::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kPods = 8;
constexpr int kAlone = 300;  // lines, of which p99 is the fourth worst
constexpr Duration kBetween = 50ms;
constexpr Duration kPublishedWithin = 5s;
constexpr Duration kFloodFor = 15s;
constexpr int kFloodASecond = 10'000;
constexpr Duration kFloodStep = 5ms;
// The goal.
constexpr Duration kP99Most = 50ms;

// What a busy node's kernel writes, some of it much like a fault's line.
constexpr std::array<std::string_view, 5> kOtherLines = {
    "audit: type=1400 audit(1764000000.123:4711): apparmor=\"DENIED\" operation=\"open\"",
    "cni0: port 3(veth1c0ffee) entered forwarding state",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.124.06",
    "pcieport 0000:00:1c.0: PME: Signaling with IRQ 122",
    "python3[4711]: segfault at 0 ip 00007f3a error 4 in libc.so.6[7f3a00000000+195000]"};

// In the place of /dev/kmsg, which takes ten lines in five seconds of a program: a pipe of packets,
// so that a read gives one record (pipe(7), O_DIRECT). A line that finds no room is lost, as the
// kernel's ring would overwrite one.
class KernelLogPipe {
 public:
  static StatusOr<KernelLogPipe> Make(const std::string& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) return ErrnoStatus(errno, "make " + path);
    // For reading as well: without a reader a pipe cannot be written.
    Fd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!fd) return ErrnoStatus(errno, "open " + path);
    if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK | O_DIRECT) != 0) {
      return ErrnoStatus(errno, "make packets of " + path);
    }
    // A page a record: 1,024 of them, about what a log of 128 KiB keeps, where root asks.
    if (::fcntl(fd.get(), F_SETPIPE_SZ, 4 << 20) < 0 &&
        ::fcntl(fd.get(), F_SETPIPE_SZ, 1 << 20) < 0) {
      return ErrnoStatus(errno, "make room in " + path);
    }
    return KernelLogPipe(std::move(fd));
  }

  void Write(const Loop& loop, std::string_view text) {
    const auto boot =
        std::chrono::duration_cast<std::chrono::microseconds>(loop.Now().time_since_epoch());
    const std::string record = fmt::format("4,{},{},-;{}\n", ++written_, boot.count(), text);
    const ssize_t size = ::write(fd_.get(), record.data(), record.size());
    if (size != static_cast<ssize_t>(record.size())) ++lost_;
  }

  std::uint64_t written() const { return written_; }
  std::uint64_t lost() const { return lost_; }

 private:
  explicit KernelLogPipe(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
  std::uint64_t written_ = 0, lost_ = 0;
};

// A node whose GPUs are all held, and whose driver reads that log.
struct LoggedNode {
  std::unique_ptr<Rig> rig;
  std::unique_ptr<cli::AgentLink> driver;
  std::map<std::string, std::string> devices;    // of Pods
  std::map<std::string, std::string> addresses;  // of devices: "0000:ff:1f"
};

StatusOr<LoggedNode> StartLoggedNode(Bench& bench, const std::string& log_name,
                                     std::optional<KernelLogPipe>& log) {
  LoggedNode node;
  ASSIGN_OR_RETURN(node.rig, Rig::Start(bench, {.role = "manager"}));
  const std::string path = node.rig->place().directory + "/" + log_name;
  ASSIGN_OR_RETURN(log, KernelLogPipe::Make(path));
  RETURN_IF_ERROR(node.rig->StartDriver(
      "gpu", Rig::kGpuDriver, {"--devices", std::to_string(kPods), "--kernel-log", path}));
  RETURN_IF_ERROR(node.rig->MakePods({.driver = Rig::kGpuDriver, .count = kPods}));
  ASSIGN_OR_RETURN(node.devices, node.rig->DevicesOfPods());
  ASSIGN_OR_RETURN(node.driver, node.rig->LinkToDriver(Rig::kGpuDriver));
  ASSIGN_OR_RETURN(const auto slices, node.rig->session().List(kube::kResourceSlices, ""));
  for (const Json& slice : slices) {
    for (const Json& device : slice["spec"]["devices"].items()) {
      const std::string& address =
          device["attributes"]["resource.kubernetes.io/pciBusID"]["string"].AsString();
      node.addresses[device["name"].AsString()] = address.substr(0, address.rfind('.'));
    }
  }
  return node;
}

// From the line to the Pod; then the GPU is reset and the Pod well again.
StatusOr<Duration> OneLine(LoggedNode& node, KernelLogPipe& log, const std::string& pod) {
  Rig& rig = *node.rig;
  const std::string& device = node.devices.at(pod);
  const auto shows = [&](const char* health) {
    return rig.Until(fmt::format("{} to show {}", pod, health), kPublishedWithin,
                     [&] { return rig.pods().Of(pod).device.health == health; });
  };
  const WallTime began = rig.bench().loop.WallNow();
  log.Write(rig.bench().loop, fmt::format("NVRM: Xid (PCI:{}): 79, pid=4711, name=python3, GPU "
                                          "has fallen off the bus.",
                                          node.addresses.at(device)));
  RETURN_IF_ERROR(shows("Unhealthy"));
  const Duration took = rig.pods().Of(pod).seen - began;
  RETURN_IF_ERROR(Inject(*node.driver, device, "reset", "").status());
  RETURN_IF_ERROR(shows("Healthy"));
  return took;
}

// Other lines, kFloodASecond of them, as long as it lives.
class OtherLines {
 public:
  OtherLines(Loop& loop, KernelLogPipe& log) : loop_(loop), log_(log), began_(loop.Now()) {
    Write();
  }
  std::uint64_t written() const { return written_; }

 private:
  // As many as are due by now: a step that came late is made up for.
  void Write() {
    const double seconds = std::chrono::duration<double>(loop_.Now() - began_).count();
    while (static_cast<double>(written_) < seconds * kFloodASecond) {
      log_.Write(loop_, kOtherLines[written_++ % kOtherLines.size()]);
    }
    timer_ = loop_.After(kFloodStep, [this] { Write(); });
  }

  Loop& loop_;
  KernelLogPipe& log_;
  const Time began_;
  std::uint64_t written_ = 0;
  Timer timer_;
};

}  // namespace

StatusOr<std::vector<Figure>> MeasureKernelLog(Bench& bench) {
  std::optional<KernelLogPipe> log;
  ASSIGN_OR_RETURN(LoggedNode node, StartLoggedNode(bench, "kmsg", log));
  std::vector<Duration> alone, among;
  for (int i = 0; i < kAlone; ++i) {
    ASSIGN_OR_RETURN(const Duration took, OneLine(node, *log, PodName(i % kPods)));
    alone.push_back(took);
    node.rig->Pause(kBetween);
  }
  const pid_t pid = node.rig->programs().pid(Rig::kDriver);
  ASSIGN_OR_RETURN(const ProcessUse before, ReadProcessUse(pid));
  const Time began = bench.loop.Now();
  const std::uint64_t written_before = log->written();
  {
    const OtherLines others(bench.loop, *log);
    for (int i = 0; bench.loop.Now() - began < kFloodFor; ++i) {
      ASSIGN_OR_RETURN(const Duration took, OneLine(node, *log, PodName(i % kPods)));
      among.push_back(took);
      node.rig->Pause(kBetween);
    }
  }
  const double seconds = std::chrono::duration<double>(bench.loop.Now() - began).count();
  ASSIGN_OR_RETURN(const ProcessUse after, ReadProcessUse(pid));
  const std::uint64_t written = log->written() - written_before;
  return std::vector<Figure>{
      {.what = fmt::format("line of the kernel's log → Pod's status at a watcher, {} lines",
                           alone.size()),
       .measured = Spread(alone),
       .goal = "p99 ≤ 50 ms",
       .met = Percentile(alone, 99) <= kP99Most,
       .is_time = true},
      {.what = fmt::format("the same, {} lines among {} others a second", among.size(),
                           Count(kFloodASecond)),
       .measured = Spread(among),
       .goal = "p99 ≤ 50 ms",
       .met = Percentile(among, 99) <= kP99Most,
       .is_time = true},
      {.what = fmt::format("lines that found no room, of {} in {:.0f} s", Count(written), seconds),
       .measured = Count(log->lost()),
       .goal = "0",
       .met = log->lost() == 0},
      // A tick is 10 ms, so ticks a second are percent.
      {.what = "the driver meanwhile, of a core",
       .measured =
           fmt::format("{:.1f} %", static_cast<double>(after.ticks - before.ticks) / seconds)}};
}

}  // namespace galen::bench
