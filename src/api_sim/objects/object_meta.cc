#include "api_sim/objects/object_meta.h"

#include <algorithm>
#include <charconv>

#include "api_sim/objects/schema.h"
#include "base/text.h"

namespace galen::api_sim {
namespace {

// Includes generateName: it records the name's origin and cannot change afterwards.
constexpr const char* kSystemFields[] = {
    "uid",      "creationTimestamp",          "generation",   "deletionTimestamp",
    "selfLink", "deletionGracePeriodSeconds", "generateName", "resourceVersion"};

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The name part of a label key, and label values: letters, digits, '-', '_', '.'; at most 63.
bool IsLabelPart(std::string_view text) {
  // LabelValueMaxLength of k8s.io/apimachinery.
  constexpr std::size_t kLabelBytesMax = 63;
  return !text.empty() && text.size() <= kLabelBytesMax && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

// An optional DNS subdomain as prefix, a slash, and a name: "galen.dev/simulated".
bool IsQualifiedName(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelPart(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsLabelPart(text.substr(slash + 1));
}

constexpr std::string_view kKeyForm =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character";

void CheckLabels(const Json& meta, Faults& faults) {
  for (const auto& [key, value] : meta["labels"].members()) {
    if (!IsQualifiedName(key)) faults.push_back(InvalidFault("metadata.labels", key, kKeyForm));
    const std::string& text = value.AsString();
    if (!text.empty() && !IsLabelPart(text)) {
      faults.push_back(InvalidFault(
          "metadata.labels", text,
          "a valid label must be an empty string or consist of at most 63 alphanumeric characters, "
          "'-', '_' or '.', and must start and end with an alphanumeric character"));
    }
  }
}

void CheckAnnotations(const Json& meta, Faults& faults) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : meta["annotations"].members()) {
    // Annotation keys are checked in lower case, label keys as they are: upstream's rule.
    std::string lower = key;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (!IsQualifiedName(lower)) {
      faults.push_back(InvalidFault("metadata.annotations", key, kKeyForm));
    }
    bytes += key.size() + value.AsString().size();
  }
  if (bytes > kAnnotationsBytesMax) {
    faults.push_back(TooLongFault("metadata.annotations", kAnnotationsBytesMax));
  }
}

void CheckOwners(const Json& meta, Faults& faults) {
  // One object may have many owners but one controller.
  std::size_t controllers = 0;
  for (std::size_t i = 0; i < meta["ownerReferences"].items().size(); ++i) {
    const Json& owner = meta["ownerReferences"][i];
    const std::string path = "metadata.ownerReferences[" + std::to_string(i) + "]";
    for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
      if (owner[field].AsString().empty()) {
        faults.push_back(InvalidFault(Under(path, field), "", "must not be empty"));
      }
    }
    if (owner["controller"].AsBool()) ++controllers;
  }
  if (controllers > 1) {
    faults.push_back(InvalidFault("metadata.ownerReferences", meta["ownerReferences"],
                                  "Only one reference can have Controller set to true"));
  }
}

// Whether both are equal except for some members; compares in place, since objects are large and
// writes frequent.
bool IsEqualBut(const Json& a, const Json& b, std::initializer_list<std::string_view> ignored) {
  const auto counts = [&ignored](const std::string& name) {
    return std::find(ignored.begin(), ignored.end(), name) == ignored.end();
  };
  const auto covers = [&counts](const Json& one, const Json& other) {
    return std::all_of(one.members().begin(), one.members().end(), [&](const auto& member) {
      if (!counts(member.first)) return true;
      const Json* same = other.Find(member.first);
      return same != nullptr && *same == member.second;
    });
  };
  // Equal: the same number of compared members, and each one of `a` in `b`.
  const auto size = [&counts](const Json& one) {
    return std::count_if(one.members().begin(), one.members().end(),
                         [&counts](const auto& member) { return counts(member.first); });
  };
  return size(a) == size(b) && covers(a, b);
}

constexpr std::string_view kSubdomainForm =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character";

}  // namespace

ObjectKey KeyOf(const Json& object) {
  return {object["metadata"]["namespace"].AsString(), object["metadata"]["name"].AsString()};
}

std::uint64_t ResourceVersionOf(const Json& object) {
  const std::string& text = object["metadata"]["resourceVersion"].AsString();
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

Faults CheckMeta(const Kind& kind, const Json& object) {
  Faults faults;
  const Json& meta = object["metadata"];
  const std::string& name = meta["name"].AsString();
  if (name.empty()) {
    faults.push_back(RequiredFault("metadata.name", "name or generateName is required"));
  } else if (kind.resource.kind == "Namespace" ? !IsDnsLabel(name) : !IsDnsSubdomain(name)) {
    faults.push_back(InvalidFault("metadata.name", name, kSubdomainForm));
  }
  CheckLabels(meta, faults);
  CheckAnnotations(meta, faults);
  CheckOwners(meta, faults);
  for (const Json& finalizer : meta["finalizers"].items()) {
    if (!IsQualifiedName(finalizer.AsString())) {
      faults.push_back(InvalidFault("metadata.finalizers", finalizer, kKeyForm));
    }
  }
  return faults;
}

void StampNew(const Kind& kind, Json& object, Random& random, WallTime now) {
  Json& meta = object["metadata"];
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
                            "generation", "resourceVersion"}) {
    meta.Erase(field);
  }
  const Json& asked = std::as_const(meta);
  const std::string base = asked["generateName"].AsString();
  if (asked["name"].AsString().empty() && !base.empty()) {
    meta["name"] = base.substr(0, kGeneratedBaseBytesMax) + random.NameSuffix(kNameSuffixLength);
  }
  meta["uid"] = random.Uuid();
  meta["creationTimestamp"] = FormatRfc3339(now);
  if (kind.counts_generations) meta["generation"] = 1;
}

void KeepSystemMeta(const Json& before, Json& after) {
  const Json& old = before["metadata"];
  Json& meta = after["metadata"];
  for (const char* field : kSystemFields) {
    if (const Json* value = old.Find(field)) {
      meta[field] = *value;
    } else {
      meta.Erase(field);
    }
  }
}

void CountGeneration(const Kind& kind, const Json& before, Json& after) {
  if (!kind.counts_generations) return;
  const bool same = kind.has_status ? IsEqualBut(before, after, {"metadata", "status"})
                                    : IsEqualBut(before, after, {"metadata"});
  if (same) return;
  after["metadata"]["generation"] = before["metadata"]["generation"].AsInt() + 1;
}

bool IsSameObject(const Json& a, const Json& b) {
  return IsEqualBut(a, b, {"metadata"}) &&
         IsEqualBut(a["metadata"], b["metadata"], {"resourceVersion", "managedFields"});
}

}  // namespace galen::api_sim
