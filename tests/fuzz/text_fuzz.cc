// JSON and YAML: what is read is written back and read as the same value. Metrics: however they are
// cut.
#include <algorithm>

#include "base/check.h"
#include "base/data/json.h"
#include "base/data/yaml.h"
#include "base/data/yaml_lines.h"
#include "doctor/probes/api_probe.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {

void FuzzJson(std::string_view bytes) {
  const StatusOr<Json> value = Json::Parse(bytes);
  if (!value.ok()) return;
  const StatusOr<Json> again = Json::Parse(value->Dump());
  GALEN_CHECK(again.ok() && *again == *value);
  const StatusOr<Json> pretty = Json::Parse(value->DumpPretty());
  GALEN_CHECK(pretty.ok() && *pretty == *value);
}

void FuzzYaml(std::string_view bytes) {
  const StatusOr<Json> value = ParseYaml(bytes);
  const StatusOr<std::vector<Json>> stream = ParseYamlStream(bytes);
  if (value.ok()) {
    const StatusOr<Json> again = ParseYaml(WriteYaml(*value));
    // By their texts: ".nan" is not equal to itself.
    GALEN_CHECK(again.ok() && WriteYaml(*again) == WriteYaml(*value));
    // One document is a stream of one; an empty one is left out.
    GALEN_CHECK(stream.ok() && stream->size() <= 1);
  }
  const YamlLines lines(bytes);
  for (const auto& [key, member] : value.ok() ? value->members() : Json::Object()) {
    for (std::size_t i = 0; i < member.items().size() && i < 8; ++i) {
      static_cast<void>(lines.OfField(key, i, "name"));
    }
  }
}

void FuzzMetricsText(std::string_view bytes) {
  Input input(bytes);
  const std::size_t piece = std::size_t{input.Byte()} + 1;
  const std::string_view rest = input.Rest();
  MetricsReader whole = doctor::ComponentMetrics(), cut = doctor::ComponentMetrics();
  whole.Take(rest);
  for (Input pieces(rest); !pieces.empty();) cut.Take(pieces.Piece(piece));
  const StatusOr<MetricSamples> samples = whole.End(), again = cut.End();
  GALEN_CHECK(samples.status() == again.status());
  if (!samples.ok()) return;
  std::size_t count = 0;
  for (const auto& [name, series] : *samples) {
    count += series.size();
    // A value may be NaN, which is not equal to itself.
    GALEN_CHECK(std::ranges::equal(series, again->at(name), {}, &MetricSample::labels,
                                   &MetricSample::labels));
  }
  GALEN_CHECK(count <= kMetricSamplesMax);
  static_cast<void>(doctor::GatesOf(*samples, "fuzz"));
  static_cast<void>(doctor::PluginsOf(*samples));
}

}  // namespace galen::fuzz
