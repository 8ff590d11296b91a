// What people write: where a cluster is, and what a sign means.
#include "base/check.h"
#include "base/files/fake_file_system.h"
#include "kube/authenticator.h"
#include "kube/config.h"
#include "kube/url.h"
#include "probes/rule_file/rule_reader.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

void ReadAsKubeconfig(std::string_view text) {
  FakeFileSystem files;
  Put(files, "/etc/galen", "kubeconfig", text);
  const auto config = kube::LoadKubeconfig(files, {}, {.path = "/etc/galen/kubeconfig"});
  // What is accepted can be dialled.
  if (config.ok()) GALEN_CHECK(kube::ParseUrl(config->server).ok());
}

}  // namespace

void FuzzKubeconfig(std::string_view bytes) {
  Input input(bytes);
  const std::string_view text = input.Text();
  ReadAsKubeconfig(text);
  // A credential plugin's answer and an address, behind it or alone.
  const std::string_view more = input.empty() ? text : input.Rest();
  for (const char* version :
       {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}) {
    static_cast<void>(kube::ParseExecCredential({.api_version = version}, more));
  }
  const StatusOr<kube::Url> url = kube::ParseUrl(more);
  if (!url.ok() || !url->user_info.empty()) return;
  // What is shown to people leads to the same place.
  const StatusOr<kube::Url> again = kube::ParseUrl(kube::ToString(*url));
  GALEN_CHECK(again.ok() && *again == *url);
}

void FuzzRules(std::string_view bytes) {
  const auto table = probes::ParseRules(bytes, "fuzz");
  if (table.ok()) {
    GALEN_CHECK(table->rules.size() <= probes::kRulesMax);
    for (const probes::Rule& rule : table->rules) {
      GALEN_CHECK(table->FindRule(rule.id) == &rule && table->FindSign(rule.sign) != nullptr);
    }
  }
  const auto match = probes::ParseMatch(bytes);
  if (!match.ok()) return;
  if (const auto* numbers = std::get_if<probes::NumberSet>(&*match)) {
    for (const probes::NumberRange& range : numbers->ranges) {
      GALEN_CHECK(numbers->Contains(range.first) && numbers->Contains(range.last));
    }
  }
}

}  // namespace galen::fuzz
