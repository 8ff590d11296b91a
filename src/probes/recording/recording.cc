#include "probes/recording/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/data/yaml.h"
#include "base/text.h"

namespace galen::probes {
namespace {

Json JsonOf(const Sign& sign) {
  Json json = Json::MakeObject({{"device", sign.device}, {"name", sign.name}});
  if (const double* number = std::get_if<double>(&sign.value)) {
    json["value"] = *number;
  } else {
    json["value"] = std::get<std::string>(sign.value);
  }
  const auto text = [&json](std::string_view field, const std::string& value) {
    if (!value.empty()) json[field] = value;
  };
  text("unit", sign.unit);
  text("detail", sign.detail);
  text("raw", sign.raw);
  text("error", sign.error);
  text("expectedText", sign.expected_text);
  if (sign.expected) json["expected"] = *sign.expected;
  if (sign.absent) json["absent"] = true;
  return json;
}

constexpr std::string_view kSignFields[] = {"device",   "name",  "value", "unit",
                                            "detail",   "raw",   "error", "expectedText",
                                            "expected", "absent"};

// What a person who wrote it by hand got wrong: nothing of a sign may be passed over.
Status CheckSign(const Json& json) {
  if (!json.is_object()) return InvalidArgument("is no object");
  for (const auto& [field, value] : json.members()) {
    if (std::ranges::find(kSignFields, field) == std::end(kSignFields)) {
      return InvalidArgument("has an unknown field {}; these are known: {}", Shown(field),
                             fmt::join(kSignFields, ", "));
    }
  }
  for (const char* field : {"device", "name"}) {
    if (json[field].AsString().empty()) return InvalidArgument("has no {}", field);
  }
  const bool has_value = json["value"].is_string() || json["value"].is_number();
  if (!has_value && json["error"].AsString().empty() && !json["absent"].AsBool()) {
    return InvalidArgument("{} of {} has no value that is a number or a text",
                           Shown(json["name"].AsString()), Shown(json["device"].AsString()));
  }
  return OkStatus();
}

Sign SignOf(const Json& json) {
  Sign sign{.device = json["device"].AsString(), .name = json["name"].AsString()};
  if (json["value"].is_string()) {
    sign.value = json["value"].AsString();
  } else {
    sign.value = json["value"].AsDouble();
  }
  sign.unit = json["unit"].AsString();
  sign.detail = json["detail"].AsString();
  sign.raw = json["raw"].AsString();
  sign.error = json["error"].AsString();
  sign.expected_text = json["expectedText"].AsString();
  if (json.Has("expected")) sign.expected = json["expected"].AsDouble();
  sign.absent = json["absent"].AsBool();
  return sign;
}

}  // namespace

std::string WriteRecordedDevices(const std::vector<RecordedDevice>& devices) {
  Json all{Json::Object()};
  for (const RecordedDevice& device : devices) {
    Json names{Json::Array()};
    for (const std::string& name : device.kernel_names) names.Append(name);
    all[device.name] = Json::MakeObject(
        {{"path", device.path}, {"model", device.model}, {"kernelNames", std::move(names)}});
  }
  return WriteYaml(Json::MakeObject({{"devices", std::move(all)}}));
}

StatusOr<std::vector<RecordedDevice>> ReadRecordedDevices(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseYaml(text));
  if (!json["devices"].is_object()) return InvalidArgument("names no devices");
  std::vector<RecordedDevice> devices;
  for (const auto& [name, row] : json["devices"].members()) {
    RecordedDevice device{
        .name = name, .path = row["path"].AsString(), .model = row["model"].AsString()};
    for (const Json& each : row["kernelNames"].items()) {
      device.kernel_names.push_back(each.AsString());
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::string WriteSigns(const std::vector<Sign>& signs) {
  Json all{Json::Array()};
  for (const Sign& sign : signs) all.Append(JsonOf(sign));
  return all.DumpPretty() + "\n";
}

StatusOr<std::vector<Sign>> ReadSigns(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  if (!json.is_array()) return InvalidArgument("is no list of signs");
  std::vector<Sign> signs;
  for (const Json& row : json.items()) {
    const Status sound = CheckSign(row);
    if (!sound.ok()) return Annotate(sound, "sign {}", signs.size() + 1);
    signs.push_back(SignOf(row));
  }
  return signs;
}

std::string StepName(Duration at) {
  return fmt::format("{:.10g}s", std::chrono::duration<double>(at).count());
}

}  // namespace galen::probes
