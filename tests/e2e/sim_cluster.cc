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

SimCluster::SimCluster(Stage& stage, std::vector<std::string> arguments)
    : stage_(stage), arguments_(std::move(arguments)), kubeconfig_(stage.Path("kubeconfig")) {
  serves_ = Start(arguments_);
}

bool SimCluster::Start(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--kubeconfig-out", kubeconfig_});
  program_ = &stage_.Start("galen-sim", std::move(arguments));
  return stage_.Until([&] { return !program_->running() || stage_.HasFile("kubeconfig"); }) &&
         program_->running();
}

bool SimCluster::StartAgain(const std::vector<std::string>& more) {
  // "…server: https://127.0.0.1:41234…": a free port was taken the first time.
  const std::string text = stage_.Read("kubeconfig");
  const std::string scheme = "https://";
  const std::size_t at = text.find(scheme);
  if (at == std::string::npos) return false;
  const std::size_t begin = at + scheme.size();
  std::vector<std::string> arguments = arguments_;
  arguments.insert(arguments.end(),
                   {"--listen", text.substr(begin, text.find_first_of("\" \n", begin) - begin)});
  arguments.insert(arguments.end(), more.begin(), more.end());
  // It is written again once the API serves.
  std::filesystem::remove(kubeconfig_);
  return serves_ = Start(std::move(arguments));
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
