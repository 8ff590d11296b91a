#include <algorithm>

#include "alloc/cel/program.h"
#include "alloc/device_facts.h"
#include "tests/alloc/peer.h"

namespace galen::alloc_peer {
namespace {

using alloc::AttributeValue;
using alloc::DeviceFacts;

AttributeValue VersionOf(const std::string& text) {
  auto version = alloc::ParseSemanticVersion(text);
  if (!version.ok()) return alloc::UnknownKind{};
  return *std::move(version);
}

AttributeValue VersionsOf(const Json& list) {
  std::vector<alloc::SemanticVersion> versions;
  for (const Json& item : list.items()) {
    auto version = alloc::ParseSemanticVersion(item.AsString());
    if (!version.ok()) return alloc::UnknownKind{};
    versions.push_back(*std::move(version));
  }
  return versions;
}

template <typename Element, typename Read>
std::vector<Element> ListOf(const Json& list, Read read) {
  std::vector<Element> elements;
  for (const Json& item : list.items()) elements.push_back(read(item));
  return elements;
}

AttributeValue AttributeOf(const Json& attribute) {
  if (attribute.Has("int")) return attribute["int"].AsInt();
  if (attribute.Has("bool")) return attribute["bool"].AsBool();
  if (attribute.Has("string")) return attribute["string"].AsString();
  if (attribute.Has("version")) return VersionOf(attribute["version"].AsString());
  if (attribute.Has("ints")) {
    return ListOf<std::int64_t>(attribute["ints"], [](const Json& item) { return item.AsInt(); });
  }
  if (attribute.Has("bools")) {
    return ListOf<bool>(attribute["bools"], [](const Json& item) { return item.AsBool(); });
  }
  if (attribute.Has("strings")) {
    return ListOf<std::string>(attribute["strings"],
                               [](const Json& item) { return item.AsString(); });
  }
  if (attribute.Has("versions")) return VersionsOf(attribute["versions"]);
  return alloc::UnknownKind{};
}

template <typename Entries>
void SortByName(Entries& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

DeviceFacts DeviceOf(const Json& json) {
  DeviceFacts device{.driver = json["driver"].AsString()};
  device.allow_multiple_allocations = json["allowMultipleAllocations"].AsBool();
  for (const auto& [name, attribute] : json["attributes"].members()) {
    device.attributes.emplace_back(alloc::ParseQualifiedName(name, device.driver),
                                   AttributeOf(attribute));
  }
  for (const auto& [name, capacity] : json["capacity"].members()) {
    const auto quantity = alloc::Quantity::Parse(capacity["value"].AsString());
    if (!quantity.ok()) continue;
    device.capacity.emplace_back(alloc::ParseQualifiedName(name, device.driver), *quantity);
  }
  SortByName(device.attributes);
  SortByName(device.capacity);
  return device;
}

Json Answered(std::string_view outcome, std::string_view error) {
  return Json::MakeObject({{"outcome", outcome}, {"error", error}});
}

}  // namespace

Json AnswerCel(const Json& question) {
  const alloc::cel::Environment environment{static_cast<int>(question["minor"].AsInt(37))};
  const auto program = alloc::cel::Program::Compile(question["expr"].AsString(), environment);
  if (!program.ok()) {
    const bool unsupported = program.status().code() == Code::kUnimplemented;
    return Answered(unsupported ? "unsupported" : "compile", program.status().message());
  }
  const DeviceFacts device = DeviceOf(question["device"]);
  const alloc::cel::Outcome outcome = program->Matches(device);
  using Kind = alloc::cel::Outcome::Kind;
  if (outcome.kind == Kind::kError) return Answered("run", outcome.error);
  Json answer = Answered(outcome.kind == Kind::kTrue ? "true" : "false", "");
  answer["cost"] = program->Cost(device);
  return answer;
}

}  // namespace galen::alloc_peer
