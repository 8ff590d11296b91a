#include "model/cdi_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

#include "base/data/json.h"
#include "base/data/yaml.h"
#include "base/text.h"

namespace galen {
namespace {

constexpr std::size_t kFaultsMax = 8;  // of one file; a person mends one after the other

// The versions of the specification, oldest first.
constexpr std::string_view kVersions[] = {"0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0",
                                          "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"};

// The version's place in kVersions; the end for an unknown one.
std::ptrdiff_t PlaceOf(std::string_view version) {
  return std::ranges::find(kVersions, version) - std::begin(kVersions);
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlphanumeric(char c) { return IsLetter(c) || IsDigit(c); }

bool IsMadeOf(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return IsAlphanumeric(c) || others.find(c) != std::string_view::npos;
  });
}

// Gathers what is wrong with a file, and which version it needs.
class SpecReader {
 public:
  explicit SpecReader(CdiSpec& seen) : seen_(seen) {}

  void Read(const Json& spec) {
    seen_.cdi_version = spec["cdiVersion"].AsString();
    seen_.kind = spec["kind"].AsString();
    Need("0.3.0");
    if (!spec["annotations"].members().empty()) Need("0.6.0");
    const std::size_t slash = seen_.kind.find('/');
    const bool dotted =
        slash != std::string::npos && seen_.kind.find('.', slash) != std::string::npos;
    if (dotted) Need("0.6.0");
    if (spec["devices"].items().empty()) Fault("it has no devices");
    for (const Json& device : spec["devices"].items()) ReadDevice(device);
    if (spec.Has("containerEdits")) ReadEdits("the spec", spec["containerEdits"]);
  }

 private:
  void Fault(std::string what) {
    if (seen_.faults.size() < kFaultsMax) seen_.faults.push_back(std::move(what));
  }

  void Need(const std::string& version) {
    if (seen_.least_version.empty() || PlaceOf(version) > PlaceOf(seen_.least_version)) {
      seen_.least_version = version;
    }
  }

  void ReadDevice(const Json& device) {
    const std::string& name = device["name"].AsString();
    if (!IsCdiDeviceName(name)) {
      Fault(fmt::format("device name \"{}\" is not one that CDI allows", Shown(name)));
    }
    if (std::find(seen_.devices.begin(), seen_.devices.end(), name) != seen_.devices.end()) {
      Fault(fmt::format("device {} is listed twice", Shown(name)));
    }
    seen_.devices.push_back(name);
    if (!name.empty() && !IsLetter(name.front())) Need("0.5.0");
    if (!device["annotations"].members().empty()) Need("0.6.0");
    const std::string what = "device " + Shown(name);
    if (IsEmpty(device["containerEdits"])) {
      Fault(what + " has no edits");
    } else {
      ReadEdits(what, device["containerEdits"]);
    }
  }

  static bool IsEmpty(const Json& edits) {
    for (const char* part :
         {"env", "deviceNodes", "mounts", "hooks", "netDevices", "additionalGids"}) {
      if (!edits[part].items().empty()) return false;
    }
    return !edits.Has("intelRdt");
  }

  void ReadEdits(const std::string& what, const Json& edits) {
    ReadEnv(what, edits["env"]);
    for (const Json& node : edits["deviceNodes"].items()) ReadNode(what, node);
    for (const Json& mount : edits["mounts"].items()) {
      if (mount.Has("type")) Need("0.4.0");
      NeedPath(what, "a mount's hostPath", mount["hostPath"]);
      NeedPath(what, "a mount's containerPath", mount["containerPath"]);
    }
    for (const Json& hook : edits["hooks"].items()) ReadHook(what, hook);
    if (edits.Has("intelRdt") || !edits["additionalGids"].items().empty()) Need("0.7.0");
    const Json& rdt = edits["intelRdt"];
    if (rdt.Has("schemata") || rdt["enableMonitoring"].AsBool()) Need("1.1.0");
    ReadNetDevices(what, edits["netDevices"]);
  }

  void ReadEnv(const std::string& what, const Json& env) {
    for (const Json& variable : env.items()) {
      const std::size_t equals = variable.AsString().find('=');
      if (equals != std::string::npos && equals > 0) continue;
      Fault(fmt::format("{}: env \"{}\" is not NAME=value", what, Shown(variable.AsString())));
    }
  }

  void ReadNode(const std::string& what, const Json& node) {
    NeedPath(what, "a device node's path", node["path"]);
    if (!node["hostPath"].AsString().empty()) {
      Need("0.5.0");
      NeedPath(what, "a device node's hostPath", node["hostPath"]);
    }
    const std::string& type = node["type"].AsString();
    if (!type.empty() && type != "b" && type != "c" && type != "u" && type != "p") {
      Fault(fmt::format("{}: device node type \"{}\" is not one of b, c, u and p", what,
                        Shown(type)));
    }
    const std::string& permissions = node["permissions"].AsString();
    // "none" gives the container the node without the right to use it.
    if (permissions != "none" && permissions.find_first_not_of("rwm") != std::string::npos) {
      Fault(fmt::format("{}: permissions \"{}\" are not made of r, w and m", what,
                        Shown(permissions)));
    }
  }

  void ReadHook(const std::string& what, const Json& hook) {
    static const std::set<std::string> kNames = {
        "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};
    if (!kNames.contains(hook["hookName"].AsString())) {
      Fault(fmt::format("{}: hook \"{}\" is unknown to CDI", what,
                        Shown(hook["hookName"].AsString())));
    }
    NeedPath(what, "a hook's path", hook["path"]);
    ReadEnv(what, hook["env"]);
  }

  void ReadNetDevices(const std::string& what, const Json& devices) {
    if (!devices.items().empty()) Need("1.1.0");
    for (const Json& device : devices.items()) {
      if (!device["hostInterfaceName"].AsString().empty() && !device["name"].AsString().empty())
        continue;
      Fault(fmt::format("{}: a network device lacks hostInterfaceName or name", what));
    }
  }

  // A runtime refuses a file for a path that is missing, not for one that is relative.
  void NeedPath(const std::string& what, std::string_view which, const Json& path) {
    if (path.AsString().empty()) return Fault(fmt::format("{}: {} is missing", what, which));
    if (path.AsString().starts_with('/') || seen_.relative_paths.size() >= kFaultsMax) return;
    seen_.relative_paths.push_back(
        fmt::format("{}: {} is \"{}\", not an absolute path", what, which, Shown(path.AsString())));
  }

  CdiSpec& seen_;
};

}  // namespace

StatusOr<CdiIdParts> ParseCdiId(std::string_view id) {
  const std::size_t equals = id.find('=');
  if (equals == std::string_view::npos) {
    return InvalidArgument("\"{}\" is not vendor/class=name", Shown(id));
  }
  CdiIdParts parsed{std::string(id.substr(0, equals)), std::string(id.substr(equals + 1))};
  if (!IsCdiKind(parsed.kind)) {
    return InvalidArgument("kind \"{}\" is not vendor/class", Shown(parsed.kind));
  }
  if (!IsCdiDeviceName(parsed.device)) {
    return InvalidArgument("device name \"{}\" is not one that CDI allows", Shown(parsed.device));
  }
  return parsed;
}

bool IsCdiName(std::string_view name) {
  return !name.empty() && IsLetter(name.front()) && IsAlphanumeric(name.back()) &&
         IsMadeOf(name, "_-.");
}

bool IsCdiKind(std::string_view kind) {
  const std::size_t slash = kind.find('/');
  return slash != std::string_view::npos && IsCdiName(kind.substr(0, slash)) &&
         IsCdiName(kind.substr(slash + 1));
}

bool IsCdiDeviceName(std::string_view name) {
  return !name.empty() && IsAlphanumeric(name.front()) && IsAlphanumeric(name.back()) &&
         IsMadeOf(name, "_-.:");
}

bool IsCdiVersion(std::string_view text) {
  return std::count(text.begin(), text.end(), '.') == 2 && !text.starts_with('.') &&
         !text.ends_with('.') && text.find("..") == std::string_view::npos &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool IsCdiVersionEnough(const CdiSpec& spec) {
  return PlaceOf(spec.cdi_version) >= PlaceOf(spec.least_version);
}

CdiSpec ReadCdiSpec(const std::string& path, std::string_view text) {
  CdiSpec seen{.path = path};
  const StatusOr<Json> spec = path.ends_with(".yaml") ? ParseYaml(text) : Json::Parse(text);
  if (!spec.ok()) {
    seen.unreadable = spec.status().message();
  } else if (!spec->is_object()) {
    seen.unreadable = "it is not an object";
  } else {
    SpecReader(seen).Read(*spec);
  }
  return seen;
}

}  // namespace galen
