#include "probes/recording/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/data/yaml.h"
#include "base/text.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/rules/sign_value.h"

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
  text("parts", sign.parts);
  if (sign.expected) json["expected"] = *sign.expected;
  if (sign.absent) json["absent"] = true;
  return json;
}

constexpr std::string_view kSignFields[] = {"device",   "name",   "value", "unit",
                                            "detail",   "raw",    "error", "expectedText",
                                            "expected", "absent", "parts"};

// Refuses whatever is wrong in a sign that a person wrote by hand: nothing of it may be passed
// over.
Status CheckSign(const Json& json) {
  if (!json.is_object()) return InvalidArgument("is not an object");
  for (const auto& [field, value] : json.members()) {
    if (std::ranges::find(kSignFields, field) == std::end(kSignFields)) {
      return InvalidArgument("has an unknown field {}; these are known: {}", Shown(field),
                             fmt::join(kSignFields, ", "));
    }
    const bool sound = field == "value"      ? value.is_string() || value.is_number()
                       : field == "expected" ? value.is_number()
                       : field == "absent"   ? value.is_bool()
                                             : value.is_string();
    if (sound) continue;
    return InvalidArgument("{} is not {}", field,
                           field == "value"      ? "a number or a text"
                           : field == "expected" ? "a number"
                           : field == "absent"   ? "true or false"
                                                 : "a text");
  }
  for (const char* field : {"device", "name"}) {
    if (json[field].AsString().empty()) return InvalidArgument("has no {}", field);
  }
  if (json["value"].is_null() && json["error"].AsString().empty() && !json["absent"].AsBool()) {
    return InvalidArgument("{} of {} has no value that is a number or a text",
                           Shown(json["name"].AsString()), Shown(json["device"].AsString()));
  }
  return OkStatus();
}

// Refuses a value of another type than the sign's, which no device shows. A number that the table
// does not foresee is played: hardware shows what it shows.
Status CheckValue(const Sign& sign, const SignSpec& spec) {
  if (!sign.error.empty() || sign.absent) return OkStatus();
  const auto* text = std::get_if<std::string>(&sign.value);
  const std::string possible = PossibleValues(spec);
  const auto wrong = [&](const std::string& value) {
    return InvalidArgument("{} of {} is {}, but the table has it as {}", sign.name,
                           Shown(sign.device), value, possible);
  };
  if (text == nullptr) {
    const bool negative = spec.kind == SignKind::kCounter && std::get<double>(sign.value) < 0;
    return negative ? wrong("negative, and a counter only grows") : OkStatus();
  }
  const std::string shown = fmt::format("the text '{}'", Shown(*text, 80));
  if (spec.kind != SignKind::kEvent) return wrong(shown);
  const bool of_numbers = spec.least || spec.most || spec.whole;
  if (of_numbers && !NumberOf(sign)) return wrong(shown);
  const bool listed = std::ranges::find(spec.among, *text) != spec.among.end();
  return spec.among.empty() || listed ? OkStatus() : wrong(shown);
}

// Refuses a sign that the table knows and whose unit or value is not what the table says.
Status CheckByTable(const Sign& sign, const std::vector<Sign>& before, const RuleTable& rules) {
  const SignSpec* spec = rules.FindSign(sign.name);
  if (spec == nullptr) return OkStatus();
  if (!sign.unit.empty() && !spec->unit.empty() && sign.unit != spec->unit) {
    return InvalidArgument("{} of {} is in {}, but the table has it in {}", sign.name,
                           Shown(sign.device), Shown(sign.unit), spec->unit);
  }
  RETURN_IF_ERROR(CheckValue(sign, *spec));
  const bool twice = std::ranges::any_of(before, [&](const Sign& other) {
    return other.device == sign.device && other.name == sign.name;
  });
  if (!twice || spec->kind == SignKind::kEvent) return OkStatus();
  return InvalidArgument("{} of {} stands here twice: a step shows a device once", sign.name,
                         Shown(sign.device));
}

// In which line each item of the outermost list begins; the text is sound JSON.
std::vector<std::size_t> LinesOfItems(std::string_view text) {
  std::vector<std::size_t> lines;
  std::size_t line = 1;
  int depth = 0;
  bool quoted = false, awaited = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      // The character after an escape ends nothing.
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    if (awaited && std::string_view(" \t\r\n]").find(c) == std::string_view::npos) {
      lines.push_back(line);
      awaited = false;
    }
    quoted = c == '"';
    if (c == '[' || c == '{') awaited = depth++ == 0;
    if (c == ']' || c == '}') --depth;
    if (c == ',' && depth == 1) awaited = true;
  }
  return lines;
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
  sign.parts = json["parts"].AsString();
  if (json.Has("expected")) sign.expected = json["expected"].AsDouble();
  sign.absent = json["absent"].AsBool();
  return sign;
}

// The line of a device in recording.yaml, or of a field of it; a hint for people.
std::size_t LineOf(std::string_view text, std::string_view name, std::string_view field) {
  std::size_t at = text.find(name);
  if (at == std::string_view::npos) at = 0;
  if (!field.empty()) at = std::min(text.find(field, at), text.size());
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n'));
}

// "0000:4b:00.0", "0000:4b:00" or "nvme:nvme0": what a record of the kernel's log can name.
bool IsKernelName(std::string_view name) {
  const std::string slot = PciSlot(name);
  if (!slot.empty()) {
    return name.starts_with(slot) && name.size() <= slot.size() + std::string_view(".0").size();
  }
  const std::size_t colon = name.find(':');
  // "4b:00.0" is an address without its domain, and no subsystem.
  const bool letter = !name.empty() && name.front() >= 'a' && name.front() <= 'z';
  return letter && colon != std::string_view::npos && colon + 1 < name.size() &&
         name.find_first_of(":.", colon + 1) == std::string_view::npos;
}

Status CheckDevice(const std::string& name, const Json& row, std::string_view text,
                   std::string_view origin) {
  const auto fault = [&](std::string_view field, const std::string& what) {
    return InvalidArgument("{}:{}: device {}: {}", origin, LineOf(text, name, field), Shown(name),
                           what);
  };
  if (!row.is_object()) return fault("", "is not a mapping of path, model and kernelNames");
  for (const auto& [field, value] : row.members()) {
    if (field == "path" || field == "model") {
      if (!value.is_string()) return fault(field, field + " is not a text");
    } else if (field != "kernelNames") {
      return fault(field, fmt::format("has an unknown field {}; these are known: path, model, "
                                      "kernelNames",
                                      Shown(field)));
    } else if (!value.is_array()) {
      return fault(field, "kernelNames is not a list");
    }
  }
  for (const Json& each : row["kernelNames"].items()) {
    if (each.is_string() && IsKernelName(each.AsString())) continue;
    return fault("kernelNames", fmt::format("'{}' is not a name like \"0000:4b:00.0\" or "
                                            "\"nvme:nvme0\", as the kernel writes it",
                                            Shown(each.AsString())));
  }
  return OkStatus();
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

StatusOr<std::vector<RecordedDevice>> ReadRecordedDevices(std::string_view text,
                                                          std::string_view origin) {
  const StatusOr<YamlReading> reading = ReadYaml(text);
  if (!reading.ok()) return Annotate(reading.status(), "{}", origin);
  for (const DoubledKey& doubled : reading->doubled) {
    return InvalidArgument("{}:{}:{}: key \"{}\" comes twice", origin, doubled.line, doubled.column,
                           doubled.key);
  }
  const Json& json = reading->value;
  for (const auto& [part, value] : json.members()) {
    if (part == "devices") continue;
    return InvalidArgument("{}:{}: {} is not a part of a recording; `devices` is", origin,
                           LineOf(text, part, ""), Shown(part));
  }
  if (!json["devices"].is_object()) return InvalidArgument("{}: names no devices", origin);
  std::vector<RecordedDevice> devices;
  for (const auto& [name, row] : json["devices"].members()) {
    RETURN_IF_ERROR(CheckDevice(name, row, text, origin));
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

StatusOr<std::vector<Sign>> ReadSigns(std::string_view text, std::string_view origin,
                                      const RuleTable& rules) {
  const StatusOr<Json> json = Json::Parse(text);
  if (!json.ok()) return Annotate(json.status(), "{}", origin);
  if (!json->is_array()) return InvalidArgument("{}: is not a list of signs", origin);
  const std::vector<std::size_t> lines = LinesOfItems(text);
  std::vector<Sign> signs;
  for (const Json& row : json->items()) {
    Status sound = CheckSign(row);
    Sign sign = SignOf(row);
    if (sound.ok()) sound = CheckByTable(sign, signs, rules);
    if (!sound.ok()) {
      return Annotate(sound, "{}:{}: sign {}", origin, lines[signs.size()], signs.size() + 1);
    }
    signs.push_back(std::move(sign));
  }
  return signs;
}

std::string StepName(Duration at) {
  return fmt::format("{:.10g}s", std::chrono::duration<double>(at).count());
}

}  // namespace galen::probes
