// galen-agent: carries the health of a node's devices to the Pods that hold them.
#include <malloc.h>

#include <cstdio>

#include "agent/app/agent_process.h"
#include "base/version.h"
#include "web/admin_server.h"

namespace {

int Fail(const galen::Status& status, int code) {
  std::fputs(fmt::format("galen-agent: {}\n", status.message()).c_str(), stderr);
  return code;
}

int RunAgent(const galen::agent::AgentFlags& flags) {
  using galen::web::AdminServer;
  auto config = galen::agent::PrepareConfig(flags);
  if (!config.ok()) {
    const bool faulty = config.status().code() == galen::Code::kInvalidArgument;
    return Fail(config.status(), faulty ? galen::kExitUsage : 1);
  }
  auto made = galen::agent::AgentProcess::Create(*std::move(config));
  if (!made.ok()) return Fail(made.status(), 1);
  galen::agent::AgentProcess& agent = **made;
  // A missing or wrong kubeconfig is a configuration error, like a wrong flag.
  if (const auto api = agent.PrepareApi(); !api.ok()) return Fail(api, galen::kExitUsage);
  if (const auto status = agent.Start(); !status.ok()) return Fail(status, 1);
  galen::web::ProbePage probe_page(agent.page());
  const galen::agent::AgentConfig& wanted = agent.config();
  auto metrics = AdminServer::StartIfWanted(agent.loop(), agent.log(), agent.files(), "metrics",
                                            {.address = wanted.metrics_address,
                                             .certificate_file = wanted.metrics_certificate,
                                             .key_file = wanted.metrics_key,
                                             .token_file = wanted.metrics_token_file},
                                            agent.page());
  if (!metrics.ok()) return Fail(metrics.status(), 1);
  auto probes = AdminServer::StartIfWanted(agent.loop(), agent.log(), agent.files(), "probes",
                                           {.address = wanted.probes_address}, probe_page);
  if (!probes.ok()) return Fail(probes.status(), 1);
  agent.Run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // A first list or a burst of reports takes megabytes for a moment. By default glibc then serves
  // such sizes from the heap, where one small block that stays keeps all of it resident.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  galen::Flags flags("galen-agent", "Carries the health of a node's devices to their Pods",
                     std::string(galen::kVersion));
  galen::agent::AgentFlags values;
  galen::agent::AddFlags(flags, values);
  if (const auto code = flags.Parse(argc, argv)) return *code;
  return RunAgent(values);
}
