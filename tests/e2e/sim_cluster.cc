#include "tests/e2e/sim_cluster.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/environment.h"

namespace galen::e2e {
namespace {

// Where the packages of the Google Cloud SDK put them, as kubectl.1.NN.
constexpr const char* kCloudSdk = "/usr/lib/google-cloud-sdk/bin";

std::optional<std::string> OnPath(const std::string& program) {
  std::string path = Lookup(ReadEnvironment(), "PATH").value_or("/usr/bin:/bin");
  while (!path.empty()) {
    const auto colon = path.find(':');
    const std::string candidate = path.substr(0, colon) + "/" + program;
    if (std::filesystem::exists(candidate)) return candidate;
    path.erase(0, colon == std::string::npos ? path.size() : colon + 1);
  }
  return std::nullopt;
}

}  // namespace

SimCluster::SimCluster(Stage& stage, std::vector<std::string> arguments) : stage_(stage) {
  kubeconfig_ = stage.Path("kubeconfig");
  arguments.insert(arguments.end(), {"--kubeconfig-out", kubeconfig_});
  program_ = &stage.Start("galen-sim", std::move(arguments));
  serves_ = stage.Until([&] { return !program_->running() || stage.HasFile("kubeconfig"); }) &&
            program_->running();
}

Outcome SimCluster::Kubectl(const std::string& kubectl, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kubectl);
  // HOME: kubectl keeps a cache there.
  return stage_.Run(std::move(arguments),
                    {.environment = {"KUBECONFIG=" + kubeconfig_, "HOME=" + stage_.directory()}});
}

std::vector<std::string> FindKubectls() {
  std::vector<std::string> found;
  // The same program under two names is tried once.
  std::set<std::string> real;
  const auto add = [&](const std::string& path) {
    if (real.insert(std::filesystem::canonical(path)).second) found.push_back(path);
  };
  if (std::filesystem::is_directory(kCloudSdk)) {
    for (const auto& entry : std::filesystem::directory_iterator(kCloudSdk)) {
      if (entry.path().filename().string().starts_with("kubectl.1.")) add(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  if (const auto path = OnPath("kubectl")) add(*path);
  return found;
}

}  // namespace galen::e2e
