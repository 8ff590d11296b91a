// Tested by tests/contract/ephemeral_container_test.cc.
#include "api_sim/rules/ephemeral_containers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api_sim/objects/schema.h"
#include "base/text.h"

namespace galen::api_sim {
namespace {

constexpr const char* kPath = "spec.ephemeralContainers";

// Fields of a container that an ephemeral one must not have (upstream keeps the list of those that
// it may have, and these are the rest).
constexpr const char* kForbidden[] = {"ports",          "resources",          "resizePolicy",
                                      "restartPolicy",  "restartPolicyRules", "livenessProbe",
                                      "readinessProbe", "startupProbe",       "lifecycle"};

std::set<std::string> LastingNames(const Json& pod) {
  std::set<std::string> names;
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : pod["spec"][list].items())
      names.insert(container["name"].AsString());
  }
  return names;
}

void CheckName(const Json& container, const std::string& path, std::set<std::string>& taken,
               Faults& faults) {
  const std::string& name = container["name"].AsString();
  if (name.empty()) {
    faults.push_back(RequiredFault(Under(path, "name")));
  } else if (!IsDnsLabel(name)) {
    faults.push_back(InvalidFault(Under(path, "name"), name, "must be a DNS label (RFC 1123)"));
  } else if (!taken.insert(name).second) {
    faults.push_back(DuplicateFault(Under(path, "name"), name));
  }
  if (container["image"].AsString().empty()) faults.push_back(RequiredFault(Under(path, "image")));
}

const Json* FindContainer(const Json& list, const Json& name) {
  for (const Json& item : list.items()) {
    if (item["name"] == name) return &item;
  }
  return nullptr;
}

}  // namespace

Json WithEphemeralContainers(const Json& before, const Json& desired) {
  Json after = before;
  if (const Json* list = desired["spec"].Find("ephemeralContainers")) {
    after["spec"]["ephemeralContainers"] = *list;
  } else {
    after["spec"].Erase("ephemeralContainers");
  }
  return after;
}

Faults CheckNoEphemeralContainers(const Json& pod) {
  if (pod["spec"]["ephemeralContainers"].items().empty()) return {};
  return {ForbiddenFault(kPath, "cannot be set on create")};
}

Faults CheckEphemeralContainers(const Json& pod) {
  Faults faults;
  const std::set<std::string> lasting = LastingNames(pod);
  std::set<std::string> taken = lasting;
  const Json& list = pod["spec"]["ephemeralContainers"];
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const std::string path = fmt::format("{}[{}]", kPath, i);
    CheckName(list[i], path, taken, faults);
    const std::string& target = list[i]["targetContainerName"].AsString();
    if (!target.empty() && !lasting.contains(target)) {
      faults.push_back({"FieldValueNotFound", Under(path, "targetContainerName"),
                        fmt::format("Not found: \"{}\"", target)});
    }
    for (const char* field : kForbidden) {
      const Json* value = list[i].Find(field);
      // Go writes an absent value as an empty object.
      if (value == nullptr || *value == Json::MakeObject({})) continue;
      faults.push_back(
          ForbiddenFault(Under(path, field), "cannot be set for an Ephemeral Container"));
    }
  }
  return faults;
}

Faults CheckEphemeralContainersChange(const Json& before, const Json& after) {
  Faults faults;
  for (const Json& old : before["spec"]["ephemeralContainers"].items()) {
    const Json* now = FindContainer(after["spec"]["ephemeralContainers"], old["name"]);
    if (now != nullptr && *now == old) continue;
    faults.push_back(ForbiddenFault(
        kPath, fmt::format("existing ephemeral containers \"{}\" may not be {}\n",
                           old["name"].AsString(), now == nullptr ? "removed" : "changed")));
  }
  return faults;
}

}  // namespace galen::api_sim
