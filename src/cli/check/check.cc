// Tested by check_command_test.cc, check_run_test.cc and tests/e2e/device_check_test.cc.
#include "cli/check/check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "active/link_check.h"
#include "base/files/boot_id.h"
#include "base/files/detached_queue.h"
#include "base/files/posix_file_system.h"
#include "base/flags.h"
#include "base/liveness.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/inspect/agent_link.h"
#include "cli/interrupt.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "model/plugin_resource.h"
#include "net/connection.h"

namespace galen::cli {
namespace {

namespace wire = galen::inspect::v1;

constexpr int kExitBroken = 1;    // the device failed
constexpr int kExitNoAnswer = 2;  // the check came to no result
constexpr std::int64_t kSecondsMost = 24 * 3600;
constexpr std::int64_t kRoundsMost = 1'000'000;
constexpr double kMemoryPercentMost = 95;
// How often the terminal's line is redrawn, and how often a line is printed elsewhere.
constexpr Duration kCheckRedrawEvery = std::chrono::milliseconds(500);
constexpr Duration kCheckLineEvery = std::chrono::seconds(10);
constexpr Duration kLookAtCallEvery = std::chrono::milliseconds(100);

StatusOr<std::uint64_t> ParseSeed(const std::string& text) {
  if (text.empty()) return Random::Seed();
  std::uint64_t seed = 0;
  const bool is_hexadecimal = text.starts_with("0x");
  const char* const begin = text.data() + (is_hexadecimal ? 2 : 0);
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, seed, is_hexadecimal ? 16 : 10);
  if (read.ec != std::errc() || read.ptr != end) {
    return InvalidArgument("--seed {} is no number of 64 bits, such as 0x1f", text);
  }
  return seed;
}

Status ValidateCheck(const CheckArguments& arguments) {
  if (arguments.devices.empty()) return InvalidArgument("no device is named: cpu, gpu-0, …");
  if (arguments.devices.size() > active::kLinkEndsMax) {
    return InvalidArgument("{} devices are named, at most {} are checked at once",
                           arguments.devices.size(), active::kLinkEndsMax);
  }
  if (arguments.seconds < 1 || arguments.seconds > kSecondsMost) {
    return InvalidArgument("--seconds must be 1 to {}", kSecondsMost);
  }
  if (arguments.rounds < 0 || arguments.rounds > kRoundsMost) {
    return InvalidArgument("--rounds must be 0 to {}", kRoundsMost);
  }
  if (arguments.call_timeout < std::chrono::seconds(1)) {
    return InvalidArgument("--call-timeout must be 1s or more");
  }
  return OkStatus();
}

// OK when no Pod holds one of the devices, according to this node's agent.
Status CheckUnused(EpollLoop& loop, const Options& options, const CheckArguments& arguments) {
  constexpr std::string_view kAdvice = "--in-use-too checks it all the same";
  const auto dialer = net::MakeDialer(loop);
  const auto ask = [&]() -> StatusOr<wire::ListDevicesResponse> {
    ASSIGN_OR_RETURN(auto agent, AgentLink::OpenAgent(loop, *dialer, options.agent_socket));
    return agent->Ask<wire::ListDevicesResponse>("/galen.inspect.v1.Inspect/ListDevices",
                                                 wire::ListDevicesRequest());
  };
  const auto answer = ask();
  if (!answer.ok()) {
    return Unavailable("it is not known whether a Pod holds {}: {}; {}",
                       fmt::join(arguments.devices, ", "), answer.status().message(), kAdvice);
  }
  for (const std::string& name : arguments.devices) {
    const GpuNames names = NamesOfGpu(name, arguments.sysfs_root, arguments.proc_root);
    const std::vector<wire::Device> devices = DevicesNamed(*answer, names, arguments.driver);
    if (devices.empty() && !names.known) {
      return InvalidArgument(
          "{}{}: neither the agent of this node nor NVIDIA's kernel module knows such a device",
          name, arguments.driver.empty() ? "" : " of " + arguments.driver);
    }
    if (devices.empty()) {
      return Unavailable(
          "it is not known whether a Pod holds {}: the agent knows no such device; {}", name,
          kAdvice);
    }
    for (const wire::Device& device : devices) {
      if (device.holders().empty()) continue;
      const wire::Holder& holder = device.holders(0);
      return FailedPrecondition("Pod {}/{} holds {}, and a check takes its time and memory; {}",
                                holder.namespace_(), holder.pod(), name, kAdvice);
    }
  }
  return OkStatus();
}

// One run of the command: the check on a thread, and this loop, which watches it.
class CheckRun {
 public:
  CheckRun(std::unique_ptr<EpollLoop> loop, const CheckArguments& arguments, CheckWork work)
      : loop_(std::move(loop)),
        lent_(std::make_unique<Lent>(arguments)),
        watch_(lent_->watch),
        arguments_(arguments),
        work_(std::move(work)),
        time_(std::chrono::seconds(arguments.seconds)),
        start_(loop_->Now()),
        terminal_(isatty(STDERR_FILENO) != 0) {}

  struct Result {
    CheckReport report;
    bool hangs = false, interrupted = false;
    Duration took{};
    WallTime ended{};
  };

  StatusOr<Result> Run() {
    ASSIGN_OR_RETURN(const auto signals, SignalWatch::Start(*loop_, [&] {
                       interrupted_ = true;
                       watch_.Stop();
                     }));
    DetachedQueue thread(*loop_, "check");
    RunFor(
        liveness_, thread,
        [lent = std::move(lent_), work = work_]() mutable {
          lent->report = RunCheckWork(
              work, lent->watch, [&](CheckThermometer how) { lent->thermometer = std::move(how); });
          return std::move(lent);
        },
        [this](std::unique_ptr<Lent> back) {
          lent_ = std::move(back);
          loop_->Stop();
        });
    Look();
    while (!lent_ && hangs_.empty()) loop_->Run();
    EndLine();
    Result result{.took = loop_->Now() - start_, .ended = loop_->WallNow()};
    if (lent_) {
      result.report = std::move(lent_->report);
      result.interrupted = interrupted_;
      return result;
    }
    result.hangs = true;
    result.report.outcome = {.code = "CallHangs", .message = hangs_};
    for (const std::string& name : work_.devices) result.report.devices.push_back({.device = name});
    return result;
  }

 private:
  // Owned by the check's thread meanwhile: a call that hangs keeps it longer than the command.
  struct Lent {
    explicit Lent(const CheckArguments& arguments)
        : watch({.now = EpollLoop::Clock,
                 .end = EpollLoop::Clock() + std::chrono::seconds(arguments.seconds),
                 .temperature = [this] { return thermometer ? thermometer() : std::nullopt; },
                 .temperature_most = static_cast<double>(arguments.max_temperature)}) {}
    Lent(const Lent&) = delete;

    CheckThermometer thermometer;
    CheckReport report;
    active::CheckWatch watch;
  };

  // Looks at the check's calls and its progress.
  void Look() {
    const active::CheckWatch::View view = watch_.Look();
    if (view.lasts > arguments_.call_timeout) {
      hangs_ = fmt::format("{} has not returned for {}: the device, or its kernel module, hangs",
                           view.call, FormatAge(view.lasts));
      loop_->Stop();
      return;
    }
    Show(view);
    timer_ = loop_->After(kLookAtCallEvery, [this] { Look(); });
  }

  void Show(const active::CheckWatch::View& view) {
    const Time now = loop_->Now();
    const Duration every = terminal_ ? kCheckRedrawEvery : kCheckLineEvery;
    if (now - (shown_ ? *shown_ : start_) < every) return;
    shown_ = now;
    std::string line = CheckProgress(work_.devices, view, now - start_, time_);
    if (terminal_) {
      line = CutLine(line, SizeOfTerminal(STDERR_FILENO).columns);
      std::fputs(fmt::format("\r\x1b[K{}", line).c_str(), stderr);
      std::fflush(stderr);
      drawn_ = true;
    } else {
      std::fputs(fmt::format("{}\n", line).c_str(), stderr);
    }
  }

  void EndLine() {
    if (std::exchange(drawn_, false)) std::fputs("\r\x1b[K", stderr);
  }

  const std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<Lent> lent_;  // null while the thread owns it
  active::CheckWatch& watch_;   // of `lent_`; valid until Run returns, wherever that is
  const CheckArguments& arguments_;
  const CheckWork work_;
  const Duration time_;
  const Time start_;
  const bool terminal_;
  Timer timer_;
  std::optional<Time> shown_;
  bool drawn_ = false, interrupted_ = false;
  std::string hangs_;  // the call that hangs
  Liveness liveness_;
};

int CodeOf(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kPassed:
      return 0;
    case CheckVerdict::kFailed:
      return kExitBroken;
    case CheckVerdict::kUnknown:
      return kExitNoAnswer;
  }
  return kExitNoAnswer;
}

CheckEnd CheckProblem(const Status& status) {
  const bool usage = status.code() == Code::kInvalidArgument;
  return {.code = usage ? kExitUsage : kExitNoAnswer, .problem = status.message()};
}

StatusOr<CheckWork> WorkOf(const CheckArguments& arguments) {
  CheckWork work{.devices = arguments.devices,
                 .options = {.memory_share = 0, .rounds_max = static_cast<int>(arguments.rounds)},
                 .cuda = arguments.cuda,
                 .nvml = arguments.nvml,
                 .sysfs_root = arguments.sysfs_root,
                 .proc_root = arguments.proc_root};
  ASSIGN_OR_RETURN(work.options.seed, ParseSeed(arguments.seed));
  if (!arguments.memory.empty()) {
    ASSIGN_OR_RETURN(work.options.memory_share, ParseMemoryShare(arguments.memory));
  }
  return work;
}

// The command's result once the check has ended.
CheckEnd Conclude(const std::string& format, const CheckWork& work, const CheckRun::Result& result,
                  const std::string& directory) {
  CheckEnd end{.code = CodeOf(result.report.outcome.verdict), .hangs = result.hangs};
  if (result.report.refused) {
    end.code = kExitUsage;
    end.problem = result.report.outcome.message;
    return end;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(result.took).count();
  end.text = format == "json" ? CheckJson(result.report, work.options.seed)
                              : CheckText(result.report, seconds, work.options.seed);
  if (const Status left = LeaveResults(result.report, directory); !left.ok()) {
    end.problem = Annotate(left, "leave the result in {}", directory).message();
    if (end.code == 0) end.code = kExitNoAnswer;
  }
  if (result.interrupted && end.code == kExitNoAnswer) end.code = kExitInterrupted;
  return end;
}

}  // namespace

std::vector<wire::Device> DevicesNamed(const wire::ListDevicesResponse& answer,
                                       const GpuNames& names, const std::string& driver) {
  std::vector<wire::Device> found;
  for (const wire::Device& device : answer.devices()) {
    const bool is_drivers =
        device.device() == names.of_driver && (driver.empty() || device.driver() == driver);
    // The UUID comes first in the id of a time slice or a part of a device.
    const bool is_plugins = IsPluginResource(device.driver()) && !names.uuid.empty() &&
                            device.device().starts_with(names.uuid);
    if (is_drivers || is_plugins) found.push_back(device);
  }
  return found;
}

Status LeaveResults(const CheckReport& report, const std::string& directory) {
  PosixFileSystem files;
  if (directory.empty()) return OkStatus();
  RETURN_IF_ERROR(files.MakeDirectories(directory, 0755));
  Status unnamed;
  for (const CheckResult& result : report.devices) {
    if (result.verdict == CheckVerdict::kUnknown) continue;
    if (!IsDnsLabel(result.device)) {
      unnamed = FailedPrecondition(
          "{} is no name that a driver gives a device: no driver would read its result",
          result.device);
      continue;
    }
    RETURN_IF_ERROR(
        files.WriteAtomically(directory + "/" + CheckResultFile(result.device, result.subject),
                              ToJson(result).DumpPretty() + "\n", 0644));
  }
  return unnamed;
}

CheckEnd Check(const Options& options, const CheckArguments& given) {
  CheckArguments arguments = given;
  for (std::string& name : arguments.devices) {
    StatusOr<std::string> canonical = CanonicalDevice(name);
    if (!canonical.ok()) return CheckProblem(canonical.status());
    name = *std::move(canonical);
  }
  const std::string& format = arguments.output.empty() ? options.output : arguments.output;
  if (format != "table" && format != "json") {
    return CheckProblem(InvalidArgument("check prints table or json, not {}", format));
  }
  if (const Status valid = ValidateCheck(arguments); !valid.ok()) return CheckProblem(valid);
  const auto directory = ResultsDirectory(arguments);
  if (!directory.ok()) return CheckProblem(directory.status());
  const auto work = WorkOf(arguments);
  if (!work.ok()) return CheckProblem(work.status());
  PosixFileSystem files;
  const auto boot_id = ReadBootId(files);
  if (!boot_id.ok() && !directory->empty()) return CheckProblem(boot_id.status());
  auto loop = EpollLoop::Create();
  if (!loop.ok()) return CheckProblem(loop.status());
  const bool is_cpu = arguments.devices.front() == "cpu";
  if (!is_cpu && !arguments.in_use_too) {
    const Status unused = CheckUnused(**loop, options, arguments);
    if (!unused.ok()) return CheckProblem(unused);
  }
  const WallTime began = (*loop)->WallNow();
  CheckRun run(std::move(*loop), arguments, *work);
  auto result = run.Run();
  if (!result.ok()) return CheckProblem(result.status());
  for (CheckResult& device : result->report.devices) {
    device.began = began;
    device.ended = result->ended;
    if (boot_id.ok()) device.boot_id = *boot_id;
  }
  return Conclude(format, *work, *result, *directory);
}

StatusOr<double> ParseMemoryShare(std::string_view text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, percent);
  const bool whole = read.ec == std::errc() && read.ptr + 1 == end && text.back() == '%';
  if (!whole || !(percent > 0) || percent > kMemoryPercentMost) {
    return InvalidArgument(
        "--memory {} is no share of the free memory, such as 80%: above 0%, up "
        "to {:g}%",
        Shown(text), kMemoryPercentMost);
  }
  return percent / 100;
}

StatusOr<std::string> ResultsDirectory(const CheckArguments& arguments) {
  if (arguments.driver.empty()) return arguments.results;
  if (!arguments.results.empty()) {
    return InvalidArgument(
        "--driver and --results both say where the result goes: give one of them");
  }
  if (!IsDnsSubdomain(arguments.driver)) {
    return InvalidArgument("--driver {} is no name of a driver, such as gpu.nvidia.com{}",
                           Shown(arguments.driver, 80),
                           IsPluginResource(arguments.driver)
                               ? "; it is a device plugin's resource, whose driver is the one that "
                                 "runs with --health-only-for"
                               : "");
  }
  if (std::ranges::find(arguments.devices, "cpu") != arguments.devices.end()) {
    return InvalidArgument(
        "--driver {}: no driver looks for a result of cpu; --results names a directory itself",
        arguments.driver);
  }
  const std::string plugins = arguments.kubelet_root + "/plugins";
  const auto drivers = PosixFileSystem().List(plugins);
  if (!drivers.ok() && drivers.status().code() != Code::kNotFound) return drivers.status();
  if (!drivers.ok() || std::ranges::find(*drivers, arguments.driver) == drivers->end()) {
    return InvalidArgument(
        "--driver {}: no such driver has run on this node: {}/{} is missing; --results names a "
        "directory itself",
        arguments.driver, plugins, arguments.driver);
  }
  return fmt::format("{}/{}/{}", plugins, arguments.driver, kCheckResultsDirectory);
}

}  // namespace galen::cli
