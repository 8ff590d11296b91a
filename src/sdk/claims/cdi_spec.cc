#include "sdk/claims/cdi_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace galen::sdk {
namespace {

// The lowest version with hostPath and with device names that begin with a digit, as a UID may.
constexpr char kCdiVersion[] = "0.5.0";

bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

Json Strings(const std::vector<std::string>& texts) {
  Json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

Json NodeJson(const CdiEdits::DeviceNode& node) {
  Json json = Json::MakeObject({{"path", node.path}});
  if (!node.host_path.empty()) json["hostPath"] = node.host_path;
  if (!node.permissions.empty()) json["permissions"] = node.permissions;
  return json;
}

Json MountJson(const CdiEdits::Mount& mount) {
  return Json::MakeObject({{"hostPath", mount.host_path},
                           {"containerPath", mount.container_path},
                           {"options", Strings(mount.options)}});
}

Json HookJson(const CdiEdits::Hook& hook) {
  Json json = Json::MakeObject({{"hookName", hook.name}, {"path", hook.path}});
  if (!hook.args.empty()) json["args"] = Strings(hook.args);
  if (!hook.env.empty()) json["env"] = Strings(hook.env);
  return json;
}

Json EditsJson(const CdiEdits& edits) {
  Json json = Json::Object{};
  if (!edits.env.empty()) json["env"] = Strings(edits.env);
  for (const auto& node : edits.device_nodes) json["deviceNodes"].Append(NodeJson(node));
  for (const auto& mount : edits.mounts) json["mounts"].Append(MountJson(mount));
  for (const auto& hook : edits.hooks) json["hooks"].Append(HookJson(hook));
  return json;
}

// A zero byte would end the path early in whatever C program mounts it.
Status CheckPath(std::string_view what, std::string_view path) {
  if (path.starts_with('/') && path.find('\0') == std::string_view::npos) return OkStatus();
  return InvalidArgument("{} \"{}\" is no absolute path", what, Printable(path));
}

Status CheckEnv(const std::string& variable) {
  const std::size_t equals = variable.find('=');
  if (equals != std::string::npos && equals > 0 && variable.find('\0') == std::string::npos) {
    return OkStatus();
  }
  return InvalidArgument("environment \"{}\" is not of the form NAME=value", Printable(variable));
}

Status CheckHook(const CdiEdits::Hook& hook) {
  // The OCI runtime specification's hooks; a runtime refuses a container for any other.
  constexpr std::string_view kNames[] = {"prestart",       "createRuntime", "createContainer",
                                         "startContainer", "poststart",     "poststop"};
  if (std::find(std::begin(kNames), std::end(kNames), hook.name) == std::end(kNames)) {
    return InvalidArgument("hook \"{}\" is none of {}", Printable(hook.name),
                           fmt::join(kNames, ", "));
  }
  for (const std::string& variable : hook.env) RETURN_IF_ERROR(CheckEnv(variable));
  return CheckPath("hook", hook.path);
}

Status CheckNode(const CdiEdits::DeviceNode& node) {
  RETURN_IF_ERROR(CheckPath("device node", node.path));
  if (!node.host_path.empty()) RETURN_IF_ERROR(CheckPath("device node", node.host_path));
  // Read, write, mknod, as in a cgroup's device list; an empty text leaves it to the runtime.
  if (node.permissions.find_first_not_of("rwm") == std::string::npos) return OkStatus();
  return InvalidArgument("device node {}: permissions \"{}\" are not made of r, w and m", node.path,
                         Printable(node.permissions));
}

}  // namespace

std::string CdiKind(std::string_view driver) { return fmt::format("{}/claim", driver); }

std::string CdiId(std::string_view driver, std::string_view claim_uid, std::string_view device) {
  return fmt::format("{}={}-{}", CdiKind(driver), claim_uid, device);
}

std::string CdiFileName(std::string_view driver, std::string_view claim_uid) {
  return fmt::format("{}-claim_{}.json", driver, claim_uid);
}

std::string CdiDeviceKind(std::string_view driver) { return fmt::format("{}/device", driver); }

std::string CdiDeviceId(std::string_view driver, std::string_view device) {
  return fmt::format("{}={}", CdiDeviceKind(driver), device);
}

std::string CdiDeviceFileName(std::string_view driver) {
  return fmt::format("{}-device.json", driver);
}

bool IsCdiVendor(std::string_view driver) {
  if (driver.empty() || std::isalpha(static_cast<unsigned char>(driver.front())) == 0) return false;
  if (!IsAlphanumeric(driver.back())) return false;
  return std::all_of(driver.begin(), driver.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

Status ValidateEdits(const CdiEdits& edits) {
  for (const std::string& variable : edits.env) RETURN_IF_ERROR(CheckEnv(variable));
  for (const auto& node : edits.device_nodes) RETURN_IF_ERROR(CheckNode(node));
  for (const auto& mount : edits.mounts) {
    RETURN_IF_ERROR(CheckPath("mount", mount.host_path));
    RETURN_IF_ERROR(CheckPath("mount", mount.container_path));
  }
  for (const auto& hook : edits.hooks) RETURN_IF_ERROR(CheckHook(hook));
  return OkStatus();
}

Json MakeCdiSpec(std::string_view driver, std::string_view claim_uid, const ClaimEdits& edits) {
  Json::Array devices;
  for (const auto& [device, device_edits] : edits.devices) {
    devices.push_back(Json::MakeObject({{"name", fmt::format("{}-{}", claim_uid, device)},
                                        {"containerEdits", EditsJson(device_edits)}}));
  }
  return Json::MakeObject(
      {{"cdiVersion", kCdiVersion}, {"kind", CdiKind(driver)}, {"devices", std::move(devices)}});
}

Json MakeCdiDeviceSpec(std::string_view driver, const std::map<std::string, CdiEdits>& edits) {
  Json::Array devices;
  for (const auto& [device, device_edits] : edits) {
    devices.push_back(
        Json::MakeObject({{"name", device}, {"containerEdits", EditsJson(device_edits)}}));
  }
  return Json::MakeObject({{"cdiVersion", kCdiVersion},
                           {"kind", CdiDeviceKind(driver)},
                           {"devices", std::move(devices)}});
}

}  // namespace galen::sdk
