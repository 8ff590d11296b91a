#include "tests/e2e/fleet_stage.h"

#include <gtest/gtest.h>

#include "base/data/yaml.h"
#include "cli/demo/embedded.h"

namespace galen::e2e {
namespace {

std::vector<std::string> WithData(std::vector<std::string> arguments, const std::string& path) {
  arguments.insert(arguments.end(), {"--data", path});
  return arguments;
}

}  // namespace

FleetStage::FleetStage(std::vector<std::string> sim_arguments, const std::string& data)
    : cluster_(stage_, WithData(std::move(sim_arguments), stage_.Path(data))) {}

std::vector<std::string> FleetStage::Command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {BuiltProgram("galen"), "--kubeconfig", cluster_.kubeconfig(),
                                       "--agent-socket", stage_.Path("agent.sock")});
  return arguments;
}

cli::Session& FleetStage::session() {
  if (session_ == nullptr) {
    cli::Options options;
    options.cluster.path = cluster_.kubeconfig();
    session_ = cli::Session::Open(stage_.loop(), options).value();
  }
  return *session_;
}

void FleetStage::Create(const kube::Resource& resource, const std::string& ns,
                        const std::string& yaml) {
  const auto made = session().Fetch(kube::Create(resource, ns, ParseYaml(yaml).value()));
  ASSERT_TRUE(made.ok()) << ToString(made.status());
}

void FleetStage::InstallDefinitions() {
  Create(kube::kCustomResourceDefinitions, "", std::string(cli::kDeviceHealthCrd));
}

Program& FleetStage::StartAgent(const std::vector<std::string>& more, Stage::Options options) {
  std::vector<std::string> arguments = {"--node",
                                        "node-7",
                                        "--kubeconfig",
                                        cluster_.kubeconfig(),
                                        "--kubelet-root",
                                        stage_.Path("kubelet"),
                                        "--state-dir",
                                        stage_.Path("agent"),
                                        "--socket",
                                        stage_.Path("agent.sock"),
                                        "--metrics-address",
                                        "127.0.0.1:0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return stage_.Start("galen-agent", std::move(arguments), std::move(options));
}

Program& FleetStage::StartGpuDriver() {
  return stage_.Start("galen-driver",
                      {"gpu", "--node", "node-7", "--kubeconfig", cluster_.kubeconfig(),
                       "--kubelet-root", stage_.Path("kubelet"), "--cdi-root", stage_.Path("cdi"),
                       "--state-dir", stage_.Path("gpu"), "--metrics-address", "127.0.0.1:0"});
}

bool FleetStage::StartAll() {
  if (!serves()) return false;
  InstallDefinitions();
  StartGpuDriver();
  StartAgent();
  return stage_.Until([&] { return Count(Galen({"get", "devices"}).output, " Healthy ") == 8; });
}

bool FleetStage::GalenSays(const std::vector<std::string>& arguments, const std::string& text) {
  return stage_.Until([&] { return Galen(arguments).output.find(text) != std::string::npos; });
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace galen::e2e
