// galen-sim: a Kubernetes API on this machine, with a simulated cluster.
#include <fmt/core.h>

#include <cstdio>

#include "base/files/posix_file_system.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "base/version.h"
#include "cluster_sim/app/sim_app.h"

namespace {

int Fail(const galen::Status& status) {
  std::fputs(fmt::format("galen-sim: {}\n", status.message()).c_str(), stderr);
  return status.code() == galen::Code::kInvalidArgument ? galen::kExitUsage : 1;
}

}  // namespace

int main(int argc, char** argv) {
  galen::cluster_sim::SimOptions options;
  // A simulation in a terminal should not log over the user's work.
  std::string log_level = "warning";
  galen::Flags flags("galen-sim",
                     "A Kubernetes API on this machine with a simulated cluster.\n"
                     "Exit codes: 0 after SIGINT or SIGTERM; 64 when the command line or the token "
                     "file is faulty; 1 when it cannot start, e.g. because the address is taken",
                     std::string(galen::kVersion));
  options.AddTo(flags);
  flags.AddChoice("--log-level", log_level, {"debug", "info", "warning", "error"},
                  "The least important lines to write to standard error");
  if (const auto code = flags.Parse(argc, argv)) return *code;

  auto loop = galen::EpollLoop::Create();
  if (!loop.ok()) return Fail(loop.status());
  galen::EpollLoop& own_loop = **loop;
  galen::Log log(
      galen::ParseLogLevel(log_level).value(), [&] { return own_loop.WallNow(); },
      galen::StderrSink());
  galen::Random random(galen::Random::Seed());
  galen::PosixFileSystem files;
  auto app = galen::cluster_sim::SimApp::Start(own_loop, files, random, log, options);
  if (!app.ok()) return Fail(app.status());
  auto signals =
      galen::SignalWatch::Start(own_loop, [&] { (*app)->Stop([&own_loop] { own_loop.Stop(); }); });
  if (!signals.ok()) return Fail(signals.status());

  std::fputs(fmt::format("galen-sim serves at {}\n", (*app)->url()).c_str(), stdout);
  std::fflush(stdout);
  own_loop.Run();
  return 0;
}
