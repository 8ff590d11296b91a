// What people type, and what a kernel logs.
#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "api_sim/objects/selectors.h"
#include "api_sim/storage/presentation.h"
#include "base/check.h"
#include "base/data/metrics_text.h"
#include "base/flags.h"
#include "base/time.h"
#include "cli/commands/commands.h"
#include "cli/commands/get.h"
#include "cli/commands/why.h"
#include "net/address.h"
#include "probes/exporter/exporter_probe.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/kernel_log/kernel_record.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

// Faults and help go to the streams of the program; here nobody reads them.
class Silence {
 public:
  Silence() : out_(std::cout.rdbuf(text_.rdbuf())), error_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~Silence() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(error_);
  }
  Silence(const Silence&) = delete;

 private:
  std::ostringstream text_;
  std::streambuf* const out_;
  std::streambuf* const error_;
};

// The arguments of `galen`: which Pod, which kind of thing and which sign.
void ReadArguments(std::string_view bytes) {
  const std::string text(bytes);
  const auto pod = cli::ParsePod(text, "");
  if (pod.ok()) {
    GALEN_CHECK(!pod->name.empty() && pod->name.find('/') == std::string::npos);
    const auto again = cli::ParsePod(ToString(*pod), "");
    GALEN_CHECK(again.ok() && *again == *pod);
    // In the namespace that -n names it is the same one.
    const auto named = cli::ParsePod(text, pod->ns);
    GALEN_CHECK(named.ok() && *named == *pod);
  }
  std::string kind = text, name;
  if (cli::SplitKind(kind, name).ok()) {
    GALEN_CHECK(kind.find('/') == std::string::npos);
    GALEN_CHECK(kind == text || kind + "/" + name == text);
  }
  const auto sign = cli::ParseSign(text);
  if (sign.ok()) {
    GALEN_CHECK(!sign->name.empty());
    GALEN_CHECK(sign->value.empty() ? text == "reset" : sign->name + "=" + sign->value == text);
  }
}

}  // namespace

void FuzzSelectors(std::string_view bytes) {
  ReadArguments(bytes);
  const Json pod = Json::MakeObject(
      {{"metadata",
        Json::MakeObject(
            {{"name", "a"}, {"namespace", "b"}, {"labels", Json::MakeObject({{"app", "train"}})}})},
       {"spec", Json::MakeObject({{"containers", Json::MakeArray({"x", "y"})}})}});
  api_sim::Selection selection;
  if (const auto labels = api_sim::ParseLabelSelector(bytes); labels.ok()) {
    selection.labels = *labels;
  }
  if (const auto fields = api_sim::ParseFieldSelector(bytes); fields.ok()) {
    selection.fields = *fields;
  }
  static_cast<void>(selection.Matches(pod));
  static_cast<void>(api_sim::EvaluateJsonPath(bytes, pod));
  const api_sim::ApiRequest request =
      api_sim::ReadApiRequest({.method = "GET", .path = std::string(bytes)});
  if (request.is_resource) GALEN_CHECK(!request.plural.empty());
  const auto address = net::ParseAddress(bytes);
  if (address.ok()) {
    const auto again = net::ParseAddress(net::ToString(*address));
    GALEN_CHECK(again.ok() && *again == *address);
  }
  const auto duration = ParseDuration(bytes);
  if (duration.ok()) GALEN_CHECK(*duration >= Duration::zero());
  const auto time = ParseRfc3339(bytes);
  if (time.ok()) {
    const auto again = ParseRfc3339(FormatRfc3339(*time, 9));
    GALEN_CHECK(again.ok() && *again == *time);
  }
}

void FuzzFlags(std::string_view bytes) {
  std::vector<std::string> arguments = {"galen"};
  for (Input input(bytes); !input.empty() && arguments.size() < 64;) {
    arguments.emplace_back(input.Text());
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  const Silence silence;
  std::string output = "table", pod;
  std::int64_t count = 1;
  Duration deadline{};
  std::vector<std::string> drivers, rest;
  bool watch = false;
  Flags flags("galen", "device health", "1");
  flags.AddChoice("-o,--output", output, {"table", "wide", "json", "yaml"}, "form");
  flags.Add("--deadline", deadline, "how long");
  Flags& get = flags.AddCommand("get", "devices", [] { return 0; });
  get.AddSwitch("-w,--watch", watch, "go on");
  get.Add("--driver", drivers, "of these only");
  get.Add("--count", count, "at most");
  get.AddPositionals("names", rest, "which");
  flags.AddCommand("why", "causes", [] { return 0; }).AddPositional("pod", pod, "whose");
  const std::optional<int> code = flags.Parse(static_cast<int>(argv.size()), argv.data());
  GALEN_CHECK(!code || *code == 0 || *code == kExitUsage);
  if (!code) GALEN_CHECK(flags.Run() == 0);
}

void FuzzKernelLog(std::string_view bytes) {
  const auto record = probes::ParseKernelRecord(bytes);
  if (!record.ok()) return;
  GALEN_CHECK(record->level >= 0 && record->level <= 7 && record->facility >= 0);
  GALEN_CHECK(record->text.find('\n') == std::string::npos);
  // It goes into causes, which are JSON.
  GALEN_CHECK(Json::Parse(Json(record->text).Dump()).ok());
  static_cast<void>(probes::FaultsIn(*record));
  // The kernel's line about a process that crashed quotes 15 bytes of its name and all of its
  // file's name; whatever they are, they are no device's fault.
  probes::KernelRecord crash;
  crash.text = fmt::format("{}[4711]: segfault at 0 ip 0 sp 0 error 4 in {}[561a+1000]",
                           std::string_view(record->text).substr(0, 15), record->text);
  GALEN_CHECK(probes::FaultsIn(crash).empty());
}

// Whatever a page says, a sign of a device gets a value that is possible, or an error.
void FuzzExporter(std::string_view bytes) {
  const probes::ExporterSpec exporter{.name = "x", .labels = {{"pci", "{pci}"}}};
  const probes::CheckedDevice device{.name = "gpu-0", .known = {{"pci", "0000:4b:00.0"}}};
  const auto samples = ParseMetrics(bytes, {"a", "b"}, {"pci"});
  if (!samples.ok()) return;
  for (const char* metric : {"a", "b"}) {
    probes::SignSpec sign{.name = "sign", .kind = probes::SignKind::kCounter};
    sign.metric = probes::MetricSource{.exporter = "x", .name = metric};
    const probes::MetricReading reading = probes::ReadMetric(sign, exporter, *samples, device);
    GALEN_CHECK(reading.value.has_value() == reading.error.empty());
    GALEN_CHECK(!reading.value || *reading.value >= 0);
  }
}

}  // namespace galen::fuzz
