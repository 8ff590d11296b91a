// Tested by doctor_command_test.cc, and on real nodes by tests/cluster/stories/doctor_test.go.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/files/posix_file_system.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/conformance.h"
#include "cli/interrupt.h"
#include "doctor/probes/examination.h"
#include "doctor/report.h"
#include "kube/exec_runner.h"
#include "kube/transport.h"

namespace galen::cli {
namespace {

constexpr int kExitBad = 1;  // a check found something bad
constexpr std::size_t kHostNameBytesMax = 256;

// The output format: the command's own -o, or the one before the command.
StatusOr<std::string> FormatOfFindings(const Options& options, const DoctorArguments& arguments) {
  const std::string& format = arguments.output.empty() ? options.output : arguments.output;
  if (format == "table" || format == "wide" || format == "json" || format == "junit") return format;
  return InvalidArgument("doctor prints table, wide, json or junit, not {}", format);
}

StatusOr<std::optional<doctor::Subject>> SubjectOf(const std::string& account) {
  if (account.empty()) return std::optional<doctor::Subject>();
  const std::size_t slash = account.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == account.size()) {
    return InvalidArgument("--agent-account {} is not NAMESPACE/NAME", account);
  }
  return std::optional(doctor::Subject{account.substr(0, slash), account.substr(slash + 1)});
}

// The kubelet's default name for its node.
std::string HostName() {
  std::array<char, kHostNameBytesMax> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  std::string lower(name.data());
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string PrintedFindings(const std::string& format, const doctor::Report& report,
                            std::size_t columns) {
  if (format == "json") return doctor::JsonReport(report).DumpPretty() + "\n";
  if (format == "junit") return doctor::JunitReport(report);
  return doctor::TextReport(report, {.wide = format == "wide", .columns = columns});
}

// One run of the command.
class DoctorRun {
 public:
  DoctorRun(EpollLoop& loop, doctor::ExaminationOptions options)
      : loop_(loop), dialer_(net::MakeDialer(loop)), options_(std::move(options)) {}

  // Without a configured cluster it is skipped; a faulty configuration is InvalidArgument.
  Status FindCluster(const Options& options) {
    const auto config = kube::FindConfig(files_, options.environment, options.cluster);
    if (config.status().code() == Code::kInvalidArgument) return config.status();
    if (!config.ok()) {
      options_.no_cluster = config.status();
      // An explicitly named file must exist.
      return options.cluster.path.empty() ? OkStatus()
                                          : InvalidArgument("{}", config.status().message());
    }
    options_.server = config->server;
    exec_ = kube::MakeExecRunner(loop_);
    ASSIGN_OR_RETURN(transport_,
                     kube::Transport::Create(loop_, NullLog(), *dialer_, files_, *exec_, *config));
    return OkStatus();
  }

  // nullopt when the user interrupted it.
  StatusOr<std::optional<doctor::Observations>> Look() {
    bool interrupted = false;
    ASSIGN_OR_RETURN(const auto signals, SignalWatch::Start(loop_, [&] {
                       interrupted = true;
                       loop_.Stop();
                     }));
    std::optional<doctor::Observations> result;
    doctor::Examination examination({loop_, *dialer_, files_, transport_.get()}, options_,
                                    [&](const doctor::Observations& seen) {
                                      result = seen;
                                      loop_.Stop();
                                    });
    examination.Start();
    while (!result && !interrupted) loop_.Run();
    return result;
  }

 private:
  EpollLoop& loop_;
  PosixFileSystem files_;
  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<kube::ExecRunner> exec_;
  std::unique_ptr<kube::Transport> transport_;
  doctor::ExaminationOptions options_;
};

// A missing directory is a misspelt one: with it most checks would find nothing wrong. The agent's
// own is there by default only where an agent has been.
Status CheckPlaces(const DoctorArguments& arguments) {
  const std::string usual_state = DoctorArguments().state_dir;
  const std::pair<std::string_view, const std::string*> named[] = {
      {"--kubelet-root", &arguments.kubelet_root},
      {"--registry", &arguments.registry},
      {"--state-dir", &arguments.state_dir}};
  for (const auto& [flag, directory] : named) {
    if (directory->empty() || *directory == usual_state) continue;
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(*directory, error);
    // An unreadable directory may exist: the checks report what they could not read.
    const bool unseen = status.type() == std::filesystem::file_type::none;
    if (unseen || std::filesystem::is_directory(status)) continue;
    return InvalidArgument("{} {}: no such directory", flag, *directory);
  }
  return OkStatus();
}

// Reads the file that a flag names by `read`; empty if none is named. An unreadable file is a wrong
// flag.
template <typename T>
Status ReadNamed(std::string_view flag, const std::string& path,
                 StatusOr<T> (*read)(std::string_view), T& into) {
  if (path.empty()) return OkStatus();
  const StatusOr<std::string> text = PosixFileSystem().Read(path);
  if (!text.ok()) return InvalidArgument("{} {}: {}", flag, path, text.status().message());
  StatusOr<T> value = read(*text);
  if (!value.ok()) return Annotate(value.status(), "{} {}", flag, path);
  into = *std::move(value);
  return OkStatus();
}

doctor::ExaminationOptions OptionsOf(const Options& options, const DoctorArguments& arguments) {
  doctor::ExaminationOptions made{.node = arguments.node,
                                  .host_name = HostName(),
                                  .kubelet_root = arguments.kubelet_root,
                                  .registry = arguments.registry,
                                  .state_dir = arguments.state_dir,
                                  .agent_socket = options.agent_socket};
  if (made.node.empty()) made.node = Lookup(options.environment, "NODE_NAME").value_or("");
  if (!arguments.cdi_roots.empty()) made.cdi_directories = arguments.cdi_roots;
  return made;
}

DoctorResult DoctorProblem(const Status& status) {
  const bool usage = status.code() == Code::kInvalidArgument;
  return {.code = usage ? kExitUsage : kExitUnavailable, .problem = status.message()};
}

}  // namespace

DoctorResult Doctor(const Options& options, const DoctorArguments& arguments) {
  const StatusOr<std::string> format = FormatOfFindings(options, arguments);
  if (!format.ok()) return DoctorProblem(format.status());
  const auto subject = SubjectOf(arguments.agent_account);
  if (!subject.ok()) return DoctorProblem(subject.status());
  if (const Status places = CheckPlaces(arguments); !places.ok()) return DoctorProblem(places);
  const auto loop = EpollLoop::Create();
  if (!loop.ok()) return DoctorProblem(loop.status());
  doctor::ExaminationOptions examined = OptionsOf(options, arguments);
  for (const Status& named :
       {ReadNamed("--expect", arguments.expect, doctor::ReadExpectations, examined.expected),
        ReadNamed("--compatibility", arguments.compatibility, doctor::ReadCompatibility,
                  examined.needs)}) {
    if (!named.ok()) return DoctorProblem(named);
  }
  examined.agent = *subject;
  DoctorRun run(**loop, std::move(examined));
  if (const Status found = run.FindCluster(options); !found.ok()) return DoctorProblem(found);
  const auto seen = run.Look();
  if (!seen.ok()) return DoctorProblem(seen.status());
  if (!*seen) return {.code = kExitInterrupted, .problem = "interrupted"};
  if (!doctor::IsNode(**seen)) {
    return DoctorProblem(
        NotFound("this is no node: no {}, no agent at {} and no API server; "
                 "--kubelet-root names another directory",
                 (*seen)->kubelet_root, options.agent_socket));
  }
  const doctor::Report report{.node = (*seen)->node,
                              .kubelet_root = (*seen)->kubelet_root,
                              .when = (*seen)->when,
                              .results = doctor::Judge(**seen)};
  return {.code = doctor::Count(report).bad > 0 ? kExitBad : 0,
          .text = PrintedFindings(*format, report, options.columns)};
}

}  // namespace galen::cli
