#include "agent/containers/container_plan.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "base/data/json.h"
#include "base/data/yaml.h"
#include "base/text.h"
#include "model/cdi_spec.h"

namespace galen::agent {
namespace {

using ContainerKind = kube::Container::Kind;

// Pods of this node share its network and have no address of their own.
constexpr std::string_view kLoopback = "127.0.0.1";

// "key" of "metadata.labels['key']"; nullopt when the path is no such one.
std::optional<std::string> KeyOf(std::string_view path, std::string_view member) {
  const std::string begin = std::string(member) + "['";
  if (!path.starts_with(begin) || !path.ends_with("']")) return std::nullopt;
  return std::string(path.substr(begin.size(), path.size() - begin.size() - 2));
}

// The values of one Pod that its containers can ask for.
class PodFields {
 public:
  PodFields(const Json& pod, const PlanPlace& place) : pod_(pod), place_(place) {}

  // nullopt: a field that this node does not know. A label that is not there is "".
  std::optional<std::string> Field(const std::string& path) const {
    const Json& meta = pod_["metadata"];
    if (const auto key = KeyOf(path, "metadata.labels")) return meta["labels"][*key].AsString();
    if (const auto key = KeyOf(path, "metadata.annotations")) {
      return meta["annotations"][*key].AsString();
    }
    if (path == "metadata.name") return meta["name"].AsString();
    if (path == "metadata.namespace") return meta["namespace"].AsString();
    if (path == "metadata.uid") return meta["uid"].AsString();
    if (path == "spec.nodeName") return place_.node;
    if (path == "spec.serviceAccountName") return pod_["spec"]["serviceAccountName"].AsString();
    const bool address = path == "status.hostIP" || path == "status.hostIPs" ||
                         path == "status.podIP" || path == "status.podIPs";
    if (address) return std::string(kLoopback);
    return std::nullopt;
  }

 private:
  const Json& pod_;
  const PlanPlace& place_;
};

// The value of an item of `env`, nullopt for an optional one that does not exist; sets `fault` for
// a required one that is missing.
std::optional<std::string> ValueOf(const Json& item, const PodFields& fields,
                                   const std::map<std::string, std::string>& known,
                                   std::string& fault) {
  const Json& from = item["valueFrom"];
  if (!from.is_object()) return ExpandVariables(item["value"].AsString(), known);
  if (from.Has("fieldRef")) {
    const std::string& path = from["fieldRef"]["fieldPath"].AsString();
    if (auto value = fields.Field(path)) return value;
    fault = fmt::format("variable {} wants the field {}, which a Pod of this node does not have",
                        Printable(item["name"].AsString()), Printable(path));
    return std::nullopt;
  }
  for (const auto& [kind, reference] : from.members()) {
    if (reference["optional"].AsBool()) return std::nullopt;
    fault = fmt::format("variable {} comes from a {}, which this node does not read: give a value",
                        Printable(item["name"].AsString()), Printable(kind));
  }
  return std::nullopt;
}

void PutEnvironment(const Json& container, const PodFields& fields, ContainerPlan& plan) {
  for (const Json& source : container["envFrom"].items()) {
    for (const auto& [kind, reference] : source.members()) {
      if (!reference.is_object() || reference["optional"].AsBool()) continue;
      plan.fault = fmt::format("envFrom wants a {}, which this node does not read: name the values",
                               Printable(kind));
    }
  }
  for (const Json& item : container["env"].items()) {
    const std::string& name = item["name"].AsString();
    const auto value = ValueOf(item, fields, plan.environment, plan.fault);
    // A "=" would end the name early for readers of the environment.
    if (value && !name.empty() && name.find('=') == std::string::npos) {
      plan.environment[name] = *value;
    }
  }
}

void PutCommand(const Json& container, ContainerPlan& plan) {
  for (const std::string_view member : {"command", "args"}) {
    for (const Json& item : container[member].items()) plan.command.push_back(item.AsString());
    // Without a command the image would say what to run, and nothing here reads images.
    if (plan.command.empty() && plan.fault.empty()) {
      plan.fault = fmt::format(
          "no command: this node runs processes, not images, so spec.containers[].command must "
          "name a program of the machine (the image is {})",
          Printable(plan.image));
    }
  }
}

ContainerPlan PlanContainer(const Json& container, ContainerKind kind, const PodFields& fields,
                            const std::string& pod_directory, const PlanPlace& place) {
  ContainerPlan plan{
      .name = container["name"].AsString(), .image = container["image"].AsString(), .kind = kind};
  plan.directory = pod_directory + "/" + plan.name;
  const std::string& wanted = container["workingDir"].AsString();
  plan.working_directory = wanted.empty() ? plan.directory : wanted;
  plan.memory_bytes_max = BytesOf(container["resources"]["limits"]["memory"]);
  plan.message_from_log =
      container["terminationMessagePolicy"].AsString() == "FallbackToLogsOnError";
  plan.environment = {{"PATH", place.path},
                      {"HOSTNAME", fields.Field("metadata.name").value_or("")},
                      {"HOME", plan.directory}};
  PutEnvironment(container, fields, plan);
  // Last, so that nothing overrides it: the agent finds the container's processes by it.
  plan.environment[std::string(kContainerDirectoryVariable)] = plan.directory;
  PutCommand(container, plan);
  return plan;
}

RestartPolicy PolicyOf(const Json& spec) {
  const std::string& policy = spec["restartPolicy"].AsString();
  if (policy == "Never") return RestartPolicy::kNever;
  if (policy == "OnFailure") return RestartPolicy::kOnFailure;
  return RestartPolicy::kAlways;
}

// Names become directories: the API server validates them, and the agent checks them again.
bool IsFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// The factor of a quantity's suffix; 0 for text that is no suffix.
double FactorOf(std::string_view suffix) {
  static const std::map<std::string_view, double> kFactors = {
      {"", 1},          {"m", 1e-3},      {"k", 1e3},       {"M", 1e6},       {"G", 1e9},
      {"T", 1e12},      {"P", 1e15},      {"E", 1e18},      {"Ki", 0x1.0p10}, {"Mi", 0x1.0p20},
      {"Gi", 0x1.0p30}, {"Ti", 0x1.0p40}, {"Pi", 0x1.0p50}, {"Ei", 0x1.0p60}};
  const auto factor = kFactors.find(suffix);
  return factor == kFactors.end() ? 0 : factor->second;
}

// A device by its whole name, and the file that has it.
struct Found {
  Json device;
  std::string path;
  Json edits;  // of the whole file
};

void PutVariables(const Json& edits, std::map<std::string, std::string>& variables) {
  for (const Json& line : edits["env"].items()) {
    const std::string& text = line.AsString();
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

// Null for a file that cannot be read: it is half written, or not a CDI file.
Json ReadSpec(FileSystem& files, const std::string& path) {
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) return {};
  const StatusOr<Json> spec = path.ends_with(".json") ? Json::Parse(*text) : ParseYaml(*text);
  return spec.ok() ? *spec : Json();
}

void LookInto(FileSystem& files, const std::string& directory, const std::set<std::string>& wanted,
              std::map<std::string, Found>& found) {
  const StatusOr<std::vector<std::string>> names = files.List(directory);
  if (!names.ok()) return;
  std::size_t looked_at = 0;
  for (const std::string& name : *names) {
    const bool spec_file = name.ends_with(".json") || name.ends_with(".yaml");
    if (!spec_file || ++looked_at > kCdiFilesMax) continue;
    const std::string path = directory + "/" + name;
    const Json spec = ReadSpec(files, path);
    for (const Json& device : spec["devices"].items()) {
      const std::string id = spec["kind"].AsString() + "=" + device["name"].AsString();
      if (wanted.contains(id)) found[id] = {device, path, spec["containerEdits"]};
    }
  }
}

}  // namespace

std::string DirectoryOfPod(const std::string& pods_directory, const PodRef& pod) {
  constexpr std::size_t kFileNameBytesMax = 255;
  const std::string name = fmt::format("{}_{}_{}", pod.key.ns, pod.key.name, pod.uid);
  // The uid alone identifies it; the rest is for people.
  return pods_directory + "/" + (name.size() <= kFileNameBytesMax ? name : pod.uid);
}

StatusOr<PodPlan> PlanOf(const Json& pod, const PlanPlace& place) {
  ASSIGN_OR_RETURN(const kube::Meta meta, kube::DecodeMeta(pod));
  PodPlan plan{.ref = {meta.key, meta.uid}, .restart = PolicyOf(pod["spec"]), .containers = {}};
  for (const std::string* name : {&meta.key.ns, &meta.key.name, &meta.uid}) {
    if (!IsFileName(*name)) return InvalidArgument("Pod {} has no usable name", meta.key.name);
  }
  const Json& spec = pod["spec"];
  // Any number fits the field; more than a day is nobody's grace.
  plan.grace = std::chrono::seconds(
      std::clamp<std::int64_t>(spec["terminationGracePeriodSeconds"].AsInt(30), 0, 24 * 60 * 60));
  const PodFields fields(pod, place);
  const std::string directory = DirectoryOfPod(place.directory, plan.ref);
  for (const Json& container : spec["initContainers"].items()) {
    const bool sidecar = container["restartPolicy"].AsString() == "Always";
    plan.containers.push_back(
        PlanContainer(container, sidecar ? ContainerKind::kSidecar : ContainerKind::kInit, fields,
                      directory, place));
  }
  for (const Json& container : spec["containers"].items()) {
    plan.containers.push_back(
        PlanContainer(container, ContainerKind::kMain, fields, directory, place));
  }
  for (const ContainerPlan& container : plan.containers) {
    if (IsFileName(container.name)) continue;
    return InvalidArgument("a container of Pod {} has no usable name", meta.key.name);
  }
  return plan;
}

std::string ExpandVariables(std::string_view text,
                            const std::map<std::string, std::string>& variables) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("$$")) {
      out += '$';
      i += 2;
      continue;
    }
    const std::size_t close = rest.starts_with("$(") ? rest.find(')') : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += text[i++];
      continue;
    }
    const auto known = variables.find(std::string(rest.substr(2, close - 2)));
    // An unknown variable stays as written.
    out += known == variables.end() ? std::string(rest.substr(0, close + 1)) : known->second;
    i += close + 1;
  }
  return out;
}

std::optional<std::uint64_t> BytesOf(const Json& quantity) {
  const std::string text =
      quantity.is_int() ? std::to_string(quantity.AsInt()) : quantity.AsString();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const double factor = FactorOf({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  const double bytes = std::ceil(number * factor);
  // Values from 2^63 on are no sensible limit.
  if (factor == 0 || !(bytes > 0) || bytes >= 0x1.0p63) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

StatusOr<std::map<std::string, std::string>> CdiEnvironment(
    FileSystem& files, const std::vector<std::string>& directories,
    const std::vector<std::string>& devices) {
  std::map<std::string, std::string> variables;
  if (devices.empty()) return variables;
  const std::set<std::string> wanted(devices.begin(), devices.end());
  std::map<std::string, Found> found;
  for (const std::string& directory : directories) LookInto(files, directory, wanted, found);
  std::set<std::string> files_used;
  for (const std::string& id : devices) {
    const auto device = found.find(id);
    if (device == found.end()) {
      return NotFound("CDI device {} is in no file of {}: its driver must write it there",
                      Printable(id), fmt::join(directories, ", "));
    }
    if (files_used.insert(device->second.path).second) {
      PutVariables(device->second.edits, variables);
    }
  }
  for (const std::string& id : devices) {
    PutVariables(found.at(id).device["containerEdits"], variables);
  }
  return variables;
}

}  // namespace galen::agent
