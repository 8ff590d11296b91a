// The kernel's log: how many lines a driver takes, and how soon a fault in one is on the Pod.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "bench/agent_page.h"
#include "bench/parts.h"
#include "bench/process_use.h"

namespace galen::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kGpus = 8;
constexpr int kLinesASecond = 10'000;
constexpr Duration kFloodFor = 10s;
// One line of so many is a fault.
constexpr int kLinesAFault = 100;
constexpr int kChanges = 150;
constexpr Duration kBetween = 50ms;  // single changes: the one before has settled
constexpr Duration kWithin = 5s;
// The goals.
constexpr Duration kMedianMost = 10ms;
constexpr Duration kP99Most = 50ms;

// A pipe in the place of /dev/kmsg, in packet mode (pipe(7), O_DIRECT): one read(2) is one record,
// as there. It holds 256 records; a kernel's own log holds thousands.
class LogPipe {
 public:
  static StatusOr<LogPipe> Make(const std::string& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) return ErrnoStatus(errno, "mkfifo " + path);
    // Open for reading too, so that it opens before the driver does.
    Fd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_DIRECT | O_CLOEXEC));
    if (!fd) return ErrnoStatus(errno, "open " + path);
    constexpr int kBytes = 1 << 20;  // the most that anybody may ask for
    if (::fcntl(fd.get(), F_SETPIPE_SZ, kBytes) < 0) return ErrnoStatus(errno, "F_SETPIPE_SZ");
    return LogPipe(std::move(fd));
  }
  // False: the pipe is full, and the line is lost, as in a ring that went round.
  bool Write(std::string_view text) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::steady_clock::now().time_since_epoch())
                            .count();
    const std::string record = fmt::format("4,{},{},-;{}\n", ++sequence_, micros, text);
    return ::write(fd_.get(), record.data(), record.size()) == static_cast<ssize_t>(record.size());
  }

 private:
  explicit LogPipe(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
  std::uint64_t sequence_ = 0;
};

// The simulator's addresses count down from the last slot of the last bus.
std::string XidLine(int gpu, int xid) {
  return fmt::format("NVRM: Xid (PCI:0000:ff:{:02x}): {}, pid=1, name=train, x", 0x1f - gpu, xid);
}

// A node whose GPUs are all held, with a driver that reads the pipe.
StatusOr<std::unique_ptr<Rig>> StartNode(Bench& bench, std::optional<LogPipe>& log) {
  ASSIGN_OR_RETURN(auto rig, Rig::Start(bench, {.role = "manager"}));
  const std::string path = rig->place().directory + "/kmsg";
  ASSIGN_OR_RETURN(log, LogPipe::Make(path));
  RETURN_IF_ERROR(rig->StartDriver("gpu", Rig::kGpuDriver,
                                   {"--devices", std::to_string(kGpus), "--kernel-log", path,
                                    "--metrics-address", "127.0.0.1:0"}));
  RETURN_IF_ERROR(rig->MakePods({.driver = Rig::kGpuDriver, .count = kGpus}));
  return rig;
}

struct Flood {
  std::uint64_t lines = 0, faults = 0, refused = 0, counted = 0, lost = 0;
  double cpu_percent = 0;
};

StatusOr<double> Counted(Rig& rig, const std::string& metric) {
  ASSIGN_OR_RETURN(const std::uint16_t port, PortOfPage(rig.place().log(Rig::kDriver)));
  ASSIGN_OR_RETURN(const std::string page, ReadPage(port, "/metrics", 2s));
  const StatusOr<double> value = ValueOf(page, metric);
  return value.ok() ? *value : 0;
}

// Lines at their pace, most of them as a busy kernel writes them, some with a program's fault,
// which changes no state but is counted.
StatusOr<Flood> RunFlood(Rig& rig, LogPipe& log) {
  Flood flood;
  const std::string faults = R"(galen_kernel_log_faults_total{sign="xid"})";
  ASSIGN_OR_RETURN(const double before, Counted(rig, faults));
  const pid_t pid = rig.programs().pid(Rig::kDriver);
  ASSIGN_OR_RETURN(const ProcessUse used_before, ReadProcessUse(pid));
  const Time began = rig.bench().loop.Now();
  const auto total = static_cast<std::uint64_t>(kLinesASecond) *
                     std::chrono::duration_cast<std::chrono::seconds>(kFloodFor).count();
  while (flood.lines < total) {
    const double seconds = std::chrono::duration<double>(rig.bench().loop.Now() - began).count();
    while (flood.lines < total && static_cast<double>(flood.lines) < seconds * kLinesASecond) {
      const bool fault = ++flood.lines % kLinesAFault == 0;
      const int gpu = static_cast<int>(flood.lines / kLinesAFault % kGpus);
      const bool taken = log.Write(
          fault ? XidLine(gpu, 13)
                : fmt::format("eth0: renamed from veth{:x}, port entered forwarding state",
                              flood.lines));
      flood.refused += taken ? 0 : 1;
      flood.faults += fault ? 1 : 0;
    }
    rig.Pause(1ms);
    if (rig.bench().interrupted) return Cancelled("interrupted");
  }
  ASSIGN_OR_RETURN(const ProcessUse used, ReadProcessUse(pid));
  flood.cpu_percent = std::chrono::duration<double>(used.cpu - used_before.cpu) /
                      std::chrono::duration<double>(rig.bench().loop.Now() - began) * 100;
  rig.Pause(1s);
  ASSIGN_OR_RETURN(const double after, Counted(rig, faults));
  flood.counted = static_cast<std::uint64_t>(after - before);
  ASSIGN_OR_RETURN(const double lost, Counted(rig, "galen_kernel_log_lost_records_total"));
  flood.lost = static_cast<std::uint64_t>(lost);
  return flood;
}

// From the moment before the line is written to the Pod that says so, one after the other.
StatusOr<std::vector<Duration>> SingleLines(Rig& rig, LogPipe& log) {
  ASSIGN_OR_RETURN(const auto devices, rig.DevicesOfPods());
  ASSIGN_OR_RETURN(const auto driver, rig.LinkToDriver(Rig::kGpuDriver));
  std::vector<Duration> samples;
  for (int i = 0; i < kChanges; ++i) {
    const std::string pod = PodName(i % kGpus);
    const std::string& device = devices.at(pod);
    const int gpu = std::stoi(device.substr(device.rfind('-') + 1));
    const auto shows = [&](std::string_view health) {
      return [&rig, &pod, health] { return rig.pods().Of(pod).device.health == health; };
    };
    const WallTime written = rig.bench().loop.WallNow();
    if (!log.Write(XidLine(gpu, 79))) return Unavailable("the pipe of the kernel's log is full");
    RETURN_IF_ERROR(rig.Until(pod + " to show the XID", kWithin, shows("Unhealthy")));
    samples.push_back(rig.pods().Of(pod).seen - written);
    RETURN_IF_ERROR(Inject(*driver, device, "reset", "").status());
    RETURN_IF_ERROR(rig.Until(pod + " to be well", kWithin, shows("Healthy")));
    rig.Pause(kBetween);
  }
  return samples;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureKernelLog(Bench& bench) {
  std::optional<LogPipe> log;
  ASSIGN_OR_RETURN(const auto rig, StartNode(bench, log));
  ASSIGN_OR_RETURN(const std::vector<Duration> samples, SingleLines(*rig, *log));
  ASSIGN_OR_RETURN(const Flood flood, RunFlood(*rig, *log));
  return std::vector<Figure>{
      {.what = fmt::format("line of the kernel's log → Pod's status at a watcher, {} XIDs",
                           samples.size()),
       .measured = Spread(samples),
       .goal = "p50 ≤ 10 ms, p99 ≤ 50 ms",
       .met = Percentile(samples, 50) <= kMedianMost && Percentile(samples, 99) <= kP99Most,
       .is_time = true},
      {.what = fmt::format(
           "{} lines of the kernel's log a second for {} s, one of {} a fault: faults "
           "found",
           Count(kLinesASecond),
           std::chrono::duration_cast<std::chrono::seconds>(kFloodFor).count(), kLinesAFault),
       .measured = fmt::format("{} of {}, {} lines lost", Count(flood.counted), Count(flood.faults),
                               Count(flood.refused + flood.lost)),
       .goal = "all of them, no line lost",
       .met = flood.counted == flood.faults && flood.refused == 0 && flood.lost == 0},
      {.what = "… CPU time of the driver meanwhile",
       .measured = fmt::format("{:.0f} % of a core", flood.cpu_percent)}};
}

}  // namespace galen::bench
