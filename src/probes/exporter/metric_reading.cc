#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "probes/exporter/exporter_probe.h"
#include "probes/rules/sign.h"
#include "probes/rules/sign_value.h"

namespace galen::probes {
namespace {

// Without what may stand before the domain's digits.
std::string PlainPciAddress(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  text.remove_prefix(std::min(text.find_first_not_of('0'), colon));
  std::string plain(text);
  std::ranges::transform(plain, plain.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return plain;
}

// A label that a series of the device has.
struct WantedLabel {
  std::string name{};
  std::string value{};
  bool is_pci = false;
};

struct WantedLabels {
  std::vector<WantedLabel> labels{};
  std::string missing{};  // a placeholder that the device lacks
};

WantedLabels LabelsOf(const SignSpec& sign, const ExporterSpec& exporter,
                      const CheckedDevice& device) {
  WantedLabels wanted;
  for (const auto* from : {&exporter.labels, &sign.metric->labels}) {
    for (const auto& [name, text] : *from) {
      FilledText filled = FillPlaceholders(text, device);
      if (!filled.missing.empty()) wanted.missing = filled.missing;
      wanted.labels.push_back({name, std::move(filled.text), text == "{pci}"});
    }
  }
  return wanted;
}

bool HasLabels(const MetricSample& sample, const std::vector<WantedLabel>& wanted) {
  return std::ranges::all_of(wanted, [&](const WantedLabel& label) {
    const auto found = sample.labels.find(label.name);
    if (found == sample.labels.end()) return false;
    return label.is_pci ? SamePciAddress(found->second, label.value) : found->second == label.value;
  });
}

std::string TextOfLabels(const std::vector<WantedLabel>& wanted) {
  std::string text;
  for (const WantedLabel& label : wanted) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ", ", label.name, label.value);
  }
  return text;
}

// Why the value cannot be used; "" when it can.
std::string FaultOfValue(const SignSpec& sign, double value) {
  if (!std::isfinite(value)) return fmt::format("is {}", value);
  if (sign.kind == SignKind::kCounter && value < 0)
    return fmt::format("counts {}", NumberText(value));
  const bool low = sign.least && value < *sign.least, high = sign.most && value > *sign.most;
  if (!low && !high) return "";
  return fmt::format("is {}, which is not {}", NumberText(value), PossibleValues(sign));
}

}  // namespace

bool SamePciAddress(std::string_view a, std::string_view b) {
  return PlainPciAddress(a) == PlainPciAddress(b);
}

MetricReading ReadMetric(const SignSpec& sign, const ExporterSpec& exporter,
                         const MetricSamples& samples, const CheckedDevice& device) {
  const MetricSource& source = *sign.metric;
  const WantedLabels wanted = LabelsOf(sign, exporter, device);
  if (!wanted.missing.empty()) {
    return {.error = fmt::format("the device has no {{{}}}", wanted.missing)};
  }
  const auto series = samples.find(source.name);
  if (series == samples.end()) {
    if (source.optional) return {};
    return {.error = fmt::format("exporter {} shows no {}", exporter.name, source.name)};
  }
  const MetricSample* found = nullptr;
  std::size_t count = 0;
  for (const MetricSample& sample : series->second) {
    if (!HasLabels(sample, wanted.labels)) continue;
    if (found != nullptr && found->value == sample.value) continue;
    found = &sample;
    ++count;
  }
  if (count != 1) {
    return {.error = Shown(fmt::format("exporter {} shows {} of {} with {}", exporter.name,
                                       count == 0 ? "none" : "several values", source.name,
                                       TextOfLabels(wanted.labels)))};
  }
  if (const std::string fault = FaultOfValue(sign, found->value); !fault.empty()) {
    return {.error = fmt::format("{} of exporter {} {}", source.name, exporter.name, fault)};
  }
  return {.value = found->value};
}

}  // namespace galen::probes
