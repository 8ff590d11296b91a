#include "bench/list_reader.h"

#include <unistd.h>

#include "base/files/posix_file_system.h"
#include "base/flags.h"
#include "base/loop/epoll_loop.h"
#include "base/version.h"
#include "bench/process_use.h"
#include "kube/informer.h"
#include "kube/objects/pod.h"
#include "kube/transport.h"

namespace galen::bench {
namespace {

StatusOr<Json> Read(const ListReader& reader) {
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  PosixFileSystem files;
  const auto dialer = net::MakeDialer(*loop);
  const auto exec = kube::MakeExecRunner(*loop);
  ASSIGN_OR_RETURN(const auto transport, kube::Transport::Create(*loop, NullLog(), *dialer, files,
                                                                 *exec, {.server = reader.server}));
  kube::Client client(*loop, *transport);
  Random random(Random::Seed());
  Status trouble;
  kube::Informer<kube::Pod> pods(*loop, client, random,
                                 {.resource = kube::kPods, .page = static_cast<int>(reader.page)},
                                 kube::DecodePod);
  pods.OnSynced([&loop] { loop->Stop(); });
  pods.OnWatchTrouble([&](const Status& status) {
    trouble = status;
    loop->Stop();
  });
  // As late as can be: connecting and starting are no part of it.
  RETURN_IF_ERROR(ResetOwnPeak());
  ASSIGN_OR_RETURN(const ProcessUse before, ReadProcessUse(getpid()));
  const Time began = loop->Now();
  pods.Start();
  loop->Run();
  RETURN_IF_ERROR(trouble);
  ASSIGN_OR_RETURN(const ProcessUse after, ReadProcessUse(getpid()));
  return Json::MakeObject({{"pods", pods.objects().size()},
                           {"peak", after.peak_bytes - before.rss_bytes},
                           {"kept", after.rss_bytes - before.rss_bytes},
                           {"nanos", (loop->Now() - began).count()}});
}

}  // namespace

std::vector<std::string> CommandOf(const ListReader& reader, const std::string& program) {
  return {program, kListReaderMode, "--server=" + reader.server,
          "--page=" + std::to_string(reader.page)};
}

int RunListReader(int argc, char** argv) {
  ListReader reader;
  Flags flags("galen-bench as-list-reader", "Reads a list", std::string(kVersion));
  flags.Add("--server", reader.server, "where the API is");
  flags.Add("--page", reader.page, "Pods a page");
  if (const auto code = flags.Parse(argc, argv)) return *code;
  const StatusOr<Json> used = Read(reader);
  if (!used.ok()) {
    fmt::print(stderr, "galen-bench: {}\n", used.status().message());
    return 1;
  }
  fmt::print("{}\n", used->Dump());
  return 0;
}

}  // namespace galen::bench
