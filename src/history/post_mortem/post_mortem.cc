#include "history/post_mortem/post_mortem.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "history/post_mortem/relevant_finding.h"
#include "history/store/health_json.h"
#include "history/store/record.h"

namespace galen::history {
namespace {

constexpr PodEnd kPodEnds[] = {PodEnd::kCrashed, PodEnd::kFailed,  PodEnd::kSucceeded,
                               PodEnd::kEvicted, PodEnd::kDeleted, PodEnd::kNodeReboot,
                               PodEnd::kGone};

// Bounds a text that terminals and people read: valid UTF-8 without control characters.
void BoundShown(std::string& text, std::size_t bytes_max) {
  Bound(text, bytes_max);
  text = Shown(text, bytes_max);
}

Json EndJson(const ContainerEnd& end) {
  Json json = Json::MakeObject({{"container", end.container}});
  if (end.exit_code) json["exitCode"] = *end.exit_code;
  if (end.signal) json["signal"] = *end.signal;
  Put(json, "reason", end.reason);
  Put(json, "message", end.message);
  PutOptionalTime(json, "started", end.started);
  PutOptionalTime(json, "finished", end.finished);
  if (end.restarts != 0) json["restarts"] = end.restarts;
  if (end.init) json["init"] = true;
  return json;
}

StatusOr<ContainerEnd> ToContainerEnd(const Json& json) {
  ContainerEnd end;
  end.container = json["container"].AsString();
  if (json["exitCode"].is_int()) end.exit_code = static_cast<int>(json["exitCode"].AsInt());
  if (json["signal"].is_int()) end.signal = static_cast<int>(json["signal"].AsInt());
  end.reason = json["reason"].AsString();
  end.message = json["message"].AsString();
  ASSIGN_OR_RETURN(end.started, ToOptionalTime(json["started"]));
  ASSIGN_OR_RETURN(end.finished, ToOptionalTime(json["finished"]));
  end.restarts = static_cast<int>(json["restarts"].AsInt());
  end.init = json["init"].AsBool();
  return end;
}

Json EvidenceJson(const Evidence& evidence) {
  return Json::MakeObject({{"rule", evidence.rule},
                           {"for", ToString(evidence.supports)},
                           {"weight", evidence.weight},
                           {"sentence", evidence.sentence}});
}

std::vector<Evidence> ToEvidence(const Json& list) {
  std::vector<Evidence> all;
  for (const Json& json : list.items()) {
    all.push_back({.rule = json["rule"].AsString(),
                   .supports = ParseVerdictKind(json["for"].AsString()),
                   .weight = json["weight"].AsDouble(),
                   .sentence = json["sentence"].AsString()});
  }
  return all;
}

Json VerdictJson(const Verdict& verdict) {
  Json json =
      Json::MakeObject({{"kind", ToString(verdict.kind)}, {"confidence", verdict.confidence}});
  for (const Evidence& e : verdict.supporting) json["supporting"].Append(EvidenceJson(e));
  for (const Evidence& e : verdict.opposing) json["opposing"].Append(EvidenceJson(e));
  return json;
}

Verdict ToVerdict(const Json& json) {
  return {.kind = ParseVerdictKind(json["kind"].AsString()),
          .confidence = json["confidence"].AsDouble(),
          .supporting = ToEvidence(json["supporting"]),
          .opposing = ToEvidence(json["opposing"])};
}

void BoundEvidence(std::vector<Evidence>& all) {
  if (all.size() > kMortemEvidenceMax) all.resize(kMortemEvidenceMax);
  for (Evidence& evidence : all) {
    BoundShown(evidence.rule, kNameBytesMax);
    BoundShown(evidence.sentence, kMortemEvidenceBytesMax);
    if (!std::isfinite(evidence.weight)) evidence.weight = 0;
  }
}

void BoundVerdict(Verdict& verdict) {
  if (!std::isfinite(verdict.confidence)) verdict.confidence = 0;
  BoundEvidence(verdict.supporting);
  BoundEvidence(verdict.opposing);
}

// The least relevant finding for what happened between the times; never the first, which is the
// device's state before. REQUIRES: two findings.
std::size_t LeastOf(const std::vector<ReceivedFinding>& findings, WallTime first, WallTime ended) {
  // Where a verdict looks for signs: drivers that poll report late.
  constexpr Duration kBefore = std::chrono::minutes(1), kAfter = std::chrono::seconds(5);
  // In microseconds: times may lie further apart than nanoseconds can count.
  const auto outside = [](WallTime time, WallTime from, WallTime to) {
    using std::chrono::microseconds;
    const auto at = [](WallTime t) {
      return std::chrono::duration_cast<microseconds>(t.time_since_epoch());
    };
    return std::max({at(from) - at(time), at(time) - at(to), microseconds::zero()});
  };
  const auto rank = [&](std::size_t i) {
    const WallTime since = findings[i].health.since;
    return std::tuple(outside(since, first - kBefore, ended + kAfter), outside(since, first, ended),
                      i);
  };
  std::size_t least = 1;
  for (std::size_t i = 2; i < findings.size(); ++i) {
    if (rank(i) > rank(least)) least = i;
  }
  return least;
}

void EraseLeast(std::vector<ReceivedFinding>& findings, WallTime first, WallTime ended) {
  findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(LeastOf(findings, first, ended)));
}

void LeaveDevices(PostMortem& record, std::size_t count) {
  record.devices_left_out += static_cast<int>(record.devices.size() - count);
  record.devices.resize(count);
}

// Takes away what is missed least, one step at a time; the last steps are for texts that only a
// hostile driver writes.
void Shrink(PostMortem& record) {
  if (record.devices.size() > 1) return LeaveDevices(record, record.devices.size() / 2);
  if (record.containers.size() > 1) return record.containers.resize(record.containers.size() / 2);
  for (PostMortemDevice& device : record.devices) {
    if (device.findings.size() > 2) EraseLeast(device.findings, record.first, record.ended);
  }
}

// Most relevant first, so that the least relevant are left out.
void BoundDevices(PostMortem& record) {
  for (PostMortemDevice& device : record.devices) {
    Bound(device);
    BoundFindings(device.findings, record.first, record.ended);
  }
  std::ranges::stable_sort(record.devices, [&record](const auto& a, const auto& b) {
    return IsMoreRelevant(MostRelevantFinding(record, a), MostRelevantFinding(record, b));
  });
  if (record.devices.size() > kMortemDevicesMax) LeaveDevices(record, kMortemDevicesMax);
  // By then there is one device with two findings at most, and one container.
  constexpr std::size_t kStepsMax = 64;
  for (std::size_t step = 0; step < kStepsMax; ++step) {
    if (ToJson(record).Dump().size() <= kPostMortemBytesMax) return;
    Shrink(record);
  }
}

}  // namespace

bool IsCrash(const PostMortem& record, const ContainerEnd& end) {
  if (!EndedBadly(end)) return false;
  return record.end != PodEnd::kDeleted || (end.finished && !EndedAsAsked(end, record.asked));
}

bool HasCrash(const PostMortem& record) {
  return std::ranges::any_of(record.containers,
                             [&](const ContainerEnd& end) { return IsCrash(record, end); });
}

std::string_view ToString(PodEnd end) {
  switch (end) {
    case PodEnd::kCrashed:
      return "Crashed";
    case PodEnd::kFailed:
      return "Failed";
    case PodEnd::kSucceeded:
      return "Succeeded";
    case PodEnd::kEvicted:
      return "Evicted";
    case PodEnd::kDeleted:
      return "Deleted";
    case PodEnd::kNodeReboot:
      return "NodeReboot";
    case PodEnd::kGone:
      return "Gone";
  }
  GALEN_UNREACHABLE();
}

std::optional<PodEnd> ParsePodEnd(std::string_view text) {
  const auto found = std::ranges::find(kPodEnds, text, [](PodEnd end) { return ToString(end); });
  return found == std::end(kPodEnds) ? std::nullopt : std::optional(*found);
}

void Bound(PodRef& pod) {
  for (std::string* part : {&pod.key.ns, &pod.key.name, &pod.uid}) Bound(*part, kNameBytesMax);
}

void Bound(PostMortemDevice& device) {
  Bound(device.identity.id);
  for (std::string* text : {&device.identity.serial, &device.identity.model, &device.claim}) {
    BoundShown(*text, kNameBytesMax);
  }
  if (device.containers.size() > kMortemContainersMax) {
    device.containers.resize(kMortemContainersMax);
  }
  for (std::string& container : device.containers) BoundShown(container, kNameBytesMax);
  for (ReceivedFinding& finding : device.findings) {
    Bound(finding.health, device.identity.id);
    Cause& cause = finding.health.cause;
    // As on the Pod: a sign's text may come from anybody.
    for (std::string* text : {&cause.code, &cause.message, &cause.value}) {
      BoundShown(*text, kTextBytesMax);
    }
    Bound(finding.received);
  }
}

void BoundFindings(std::vector<ReceivedFinding>& findings, WallTime first, WallTime ended) {
  while (findings.size() > kMortemFindingsMax) EraseLeast(findings, first, ended);
}

void Bound(ContainerEnd& end) {
  BoundShown(end.container, kNameBytesMax);
  BoundShown(end.reason, kNameBytesMax);
  end.message = CleanMessage(end.message);
  for (std::optional<WallTime>* time : {&end.started, &end.finished}) {
    if (*time) Bound(**time);
  }
}

PostMortem Bounded(PostMortem record) {
  Bound(record.pod);
  BoundShown(record.node, kNameBytesMax);
  BoundShown(record.reason, kNameBytesMax);
  BoundShown(record.owner, kNameBytesMax);
  for (WallTime* time : {&record.first, &record.ended}) Bound(*time);
  for (std::optional<WallTime>* time : {&record.asked, &record.began}) {
    if (*time) Bound(**time);
  }
  if (record.containers.size() > kMortemContainersMax) {
    record.containers.resize(kMortemContainersMax);
  }
  for (ContainerEnd& end : record.containers) Bound(end);
  BoundVerdict(record.verdict);
  BoundDevices(record);
  return record;
}

Json ToJson(const PodRef& pod) {
  return Json::MakeObject({{"namespace", pod.key.ns}, {"name", pod.key.name}, {"uid", pod.uid}});
}

PodRef ToPodRef(const Json& json) {
  return {{json["namespace"].AsString(), json["name"].AsString()}, json["uid"].AsString()};
}

Json ToJson(const PostMortemDevice& device) {
  Json json = ToJson(device.identity.id);
  Put(json, "serial", device.identity.serial);
  Put(json, "model", device.identity.model);
  Put(json, "claim", device.claim);
  if (device.admin) json["admin"] = true;
  for (const std::string& container : device.containers) json["containers"].Append(container);
  for (const ReceivedFinding& finding : device.findings) {
    Json& entry = json["findings"].MutableItems().emplace_back(ToJson(finding.health));
    PutTime(entry, "received", finding.received);
  }
  return json;
}

// A member that older records have under the name `before`.
const Json& Renamed(const Json& json, std::string_view name, std::string_view before) {
  return json.Has(name) ? json[name] : json[before];
}

StatusOr<PostMortemDevice> ToPostMortemDevice(const Json& json) {
  PostMortemDevice device;
  device.identity = {ToDeviceId(json), json["serial"].AsString(), json["model"].AsString()};
  device.claim = json["claim"].AsString();
  device.admin = json["admin"].AsBool();
  for (const Json& container : json["containers"].items()) {
    device.containers.push_back(container.AsString());
  }
  for (const Json& entry : json["findings"].items()) {
    ReceivedFinding finding;
    ASSIGN_OR_RETURN(finding.health, ToHealth(entry, device.identity.id));
    ASSIGN_OR_RETURN(finding.received, ToTime(Renamed(entry, "received", "heard")));
    device.findings.push_back(std::move(finding));
  }
  return device;
}

Json ToJson(const PostMortem& record) {
  Json json = Json::MakeObject({{"pod", ToJson(record.pod)},
                                {"number", record.number},
                                {"node", record.node},
                                {"end", ToString(record.end)},
                                {"verdict", VerdictJson(record.verdict)}});
  Put(json, "reason", record.reason);
  PutOptionalTime(json, "asked", record.asked);
  PutOptionalTime(json, "began", record.began);
  PutTime(json, "first", record.first);
  PutTime(json, "ended", record.ended);
  if (record.over) json["over"] = true;
  Put(json, "owner", record.owner);
  if (!record.exact) json["exact"] = false;
  for (const ContainerEnd& end : record.containers) json["containers"].Append(EndJson(end));
  for (const PostMortemDevice& device : record.devices) json["devices"].Append(ToJson(device));
  if (record.devices_left_out != 0) json["devicesLeftOut"] = record.devices_left_out;
  if (record.published) json["published"] = true;
  return json;
}

StatusOr<PostMortem> ToPostMortem(const Json& json) {
  const auto end = ParsePodEnd(json["end"].AsString());
  if (!end) return DataLoss("end of a Pod \"{}\" is not known", json["end"].AsString());
  PostMortem record;
  record.pod = ToPodRef(json["pod"]);
  record.number = static_cast<int>(json["number"].AsInt(1));
  record.node = json["node"].AsString();
  record.end = *end;
  record.reason = json["reason"].AsString();
  ASSIGN_OR_RETURN(record.asked, ToOptionalTime(json["asked"]));
  ASSIGN_OR_RETURN(record.began, ToOptionalTime(json["began"]));
  ASSIGN_OR_RETURN(record.first, ToTime(json["first"]));
  ASSIGN_OR_RETURN(record.ended, ToTime(json["ended"]));
  record.over = json["over"].AsBool();
  record.owner = json["owner"].AsString();
  record.exact = json["exact"].AsBool(true);
  for (const Json& item : json["containers"].items()) {
    ASSIGN_OR_RETURN(ContainerEnd container, ToContainerEnd(item));
    record.containers.push_back(std::move(container));
  }
  for (const Json& item : json["devices"].items()) {
    ASSIGN_OR_RETURN(PostMortemDevice device, ToPostMortemDevice(item));
    record.devices.push_back(std::move(device));
  }
  record.devices_left_out = static_cast<int>(json["devicesLeftOut"].AsInt());
  record.verdict = ToVerdict(json["verdict"]);
  record.published = Renamed(json, "published", "told").AsBool();
  return record;
}

std::string CleanMessage(std::string_view text) {
  // Bytes read of a message: more than Kubernetes keeps, so that a hostile one costs nothing.
  constexpr std::size_t kReadBytesMax = 4096;
  if (text.size() > kReadBytesMax) text.remove_prefix(text.size() - kReadBytesMax);
  std::string clean, line;
  // Line by line, for a line break is all of the control characters that may stay.
  const auto end_line = [&] {
    if (line.ends_with(' ')) line.pop_back();
    if (!line.empty()) clean += (clean.empty() ? "" : "\n") + Printable(ToValidUtf8(line));
    line.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool space = c == '\t' || c == '\r' || c == ' ';
    if (c == '\n') end_line();
    if (space && !line.empty() && line.back() != ' ') line += ' ';
    if (!space && byte >= 0x20 && byte != 0x7f) line += c;
  }
  end_line();
  if (clean.size() <= kMortemMessageBytesMax) return clean;
  constexpr std::string_view kCut = "...";
  std::size_t begin = clean.size() - kMortemMessageBytesMax + kCut.size();
  // Not inside a code point: its later bytes are 10xxxxxx.
  while ((static_cast<unsigned char>(clean[begin]) & 0xC0) == 0x80) ++begin;
  return std::string(kCut) + clean.substr(begin);
}

}  // namespace galen::history
