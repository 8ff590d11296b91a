// Tested by conformance_command_test.cc (what needs no driver) and tests/e2e/conformance_test.cc.
#include "cli/commands/conformance.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/files/posix_file_system.h"
#include "base/flags.h"
#include "base/loop/signal.h"
#include "base/random.h"
#include "cli/fleet/session.h"
#include "conformance/examination.h"
#include "conformance/waiter.h"

namespace galen::cli {
namespace {

constexpr int kExitNotPassed = 1;         // a check failed
constexpr char kNamespace[] = "default";  // where test claims are made, unless -n says otherwise

StatusOr<std::string> RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return NotFound("resolve {}: {}", path, error.message());
  return real.string();
}

// The output format: the command's own -o, or the one before the command.
StatusOr<std::string> FormatOfReport(const Options& options,
                                     const ConformanceArguments& arguments) {
  if (!arguments.output.empty()) return arguments.output;
  if (options.output == "json") return options.output;
  if (options.output == "table" || options.output == "wide") return std::string("text");
  return InvalidArgument("conformance prints text, json or junit, not {}", options.output);
}

std::string PrintedReports(const std::string& format,
                           const std::vector<conformance::DriverReport>& reports) {
  if (format == "json") return conformance::JsonReport(reports).DumpPretty() + "\n";
  if (format == "junit") return conformance::JunitReport(reports);
  return conformance::TextReport(reports);
}

// Opens the named cluster and checks that it answers; nullptr when none was named.
StatusOr<std::unique_ptr<Session>> OpenCluster(EpollLoop& loop, const Options& options) {
  if (options.cluster.path.empty() && options.cluster.context.empty())
    return std::unique_ptr<Session>();
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Open(loop, options));
  // Otherwise a run that could not check slices would look successful.
  RETURN_IF_ERROR(session->Fetch(kube::List(kube::kResourceSlices, "", {.limit = 1})).status());
  return session;
}

// Why the driver at `socket` is examined read-only, as a clause; empty when it is not.
std::string WhyReadOnly(const ConformanceArguments& arguments, const std::string& socket) {
  if (arguments.full) return "";
  if (arguments.read_only) return "it was asked for";
  const std::string user =
      conformance::UserOf(std::filesystem::path(socket).parent_path().string());
  return user.empty() ? "" : user + " (--full examines it all the same)";
}

// What this user may not do is not the driver's fault.
Status CheckRight(const std::string& socket) {
  const bool refused = ::access(socket.c_str(), R_OK | W_OK) != 0 && errno == EACCES;
  return refused ? PermissionDenied("{}: this user may not open it; run galen as root", socket)
                 : OkStatus();
}

// One run of the command.
class ConformanceRun {
 public:
  ConformanceRun(EpollLoop& loop, const Options& options, const ConformanceArguments& arguments,
                 Session* cluster)
      : loop_(loop),
        options_(options),
        arguments_(arguments),
        waiter_(loop),
        random_(Random::Seed()),
        dialer_(net::MakeDialer(loop)),
        edges_{loop,    waiter_, *dialer_, files_, random_, cluster ? &cluster->client() : nullptr,
               RealPath} {}

  StatusOr<std::vector<conformance::DriverReport>> ExamineAll() {
    ASSIGN_OR_RETURN(auto signals, SignalWatch::Start(loop_, [this] { waiter_.Interrupt(); }));
    ASSIGN_OR_RETURN(const std::vector<conformance::RegistrationSeen> targets,
                     conformance::FindTargets(edges_, arguments_.what, arguments_.kubelet_root));
    for (const auto& target : targets) RETURN_IF_ERROR(CheckRight(target.socket));
    std::vector<conformance::DriverReport> reports;
    for (const conformance::RegistrationSeen& target : targets) {
      reports.push_back(ExamineOne(target));
      if (waiter_.interrupted()) break;
    }
    return reports;
  }

  bool interrupted() const { return waiter_.interrupted(); }

 private:
  conformance::DriverReport ExamineOne(const conformance::RegistrationSeen& target) {
    const std::string why_read_only = WhyReadOnly(arguments_, target.socket);
    const conformance::ExaminationOptions options{
        .found = target,
        .read_only = !why_read_only.empty(),
        .cdi_directories = arguments_.cdi_roots,
        .node = arguments_.node,
        .ns = options_.ns.empty() ? kNamespace : options_.ns,
        .patience = arguments_.patience};
    const conformance::Observations seen = conformance::Examine(edges_, options);
    return {.driver = seen.driver,
            .socket = target.socket,
            .read_only = seen.read_only,
            .why_read_only = why_read_only,
            .results = conformance::Judge(seen),
            .left_behind = seen.left_behind};
  }

  EpollLoop& loop_;
  const Options& options_;
  const ConformanceArguments& arguments_;
  conformance::EpollWaiter waiter_;
  PosixFileSystem files_;
  Random random_;
  std::unique_ptr<net::Dialer> dialer_;
  conformance::Edges edges_;
};

ConformanceResult ConformanceProblem(const Status& status) {
  const bool usage = status.code() == Code::kInvalidArgument;
  return {.code = usage ? kExitUsage : kExitUnavailable, .problem = status.message()};
}

}  // namespace

ConformanceResult Conformance(const Options& options, const ConformanceArguments& arguments) {
  if (arguments.read_only && arguments.full) {
    return ConformanceProblem(
        InvalidArgument("--read-only and --full exclude each other: choose one"));
  }
  const StatusOr<std::string> format = FormatOfReport(options, arguments);
  if (!format.ok()) return ConformanceProblem(format.status());
  const auto loop = EpollLoop::Create();
  if (!loop.ok()) return ConformanceProblem(loop.status());
  const StatusOr<std::unique_ptr<Session>> cluster = OpenCluster(**loop, options);
  if (!cluster.ok()) return ConformanceProblem(cluster.status());
  ConformanceRun run(**loop, options, arguments, cluster->get());
  const StatusOr<std::vector<conformance::DriverReport>> reports = run.ExamineAll();
  if (run.interrupted()) {
    return {.code = kExitInterrupted, .problem = "interrupted; what was made is put away"};
  }
  if (!reports.ok()) return ConformanceProblem(reports.status());
  const bool failed = conformance::Count(*reports).bad > 0;
  return {.code = failed ? kExitNotPassed : 0, .text = PrintedReports(*format, *reports)};
}

}  // namespace galen::cli
