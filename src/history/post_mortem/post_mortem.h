// What is left of a Pod that ended, or of one whose containers crash: who it was, how each of its
// devices was around that time, how its containers ended, and whose fault it was. A value, and its
// form as JSON (docs/formats/post-mortem.md). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "model/crash_evidence.h"
#include "model/verdict.h"

namespace galen::history {

// How a Pod ended. Written by name (ToString), so the order here is free.
enum class PodEnd {
  kCrashed,     // a container ended badly; the Pod lives on and starts it again
  kFailed,      // the Pod's phase: it will not run again
  kSucceeded,   // likewise
  kEvicted,     // the cluster or the node took it away (DisruptionTarget)
  kDeleted,     // it was deleted while it ran
  kNodeReboot,  // the node was started anew beneath it; the Pod may live on
  kGone,        // it was gone from the API when the agent came back; its end was not observed
};
std::string_view ToString(PodEnd end);  // "Crashed", "NodeReboot"
// Exact; nullopt for an end that this version does not know.
std::optional<PodEnd> ParsePodEnd(std::string_view text);

// A finding of a device, and when this node's agent received it: the sign (`health.since`) may be
// much older.
struct ReceivedFinding {
  DeviceHealth health;
  WallTime received{};
  bool operator==(const ReceivedFinding&) const = default;
};

// A device that the Pod held, with its findings in the order in which they were received; the first
// is the one in force when the window began.
struct PostMortemDevice {
  DeviceIdentity identity;
  std::string claim;                    // the ResourceClaim object
  std::vector<std::string> containers;  // that see it; none: no container references the claim
  std::vector<ReceivedFinding> findings;
  bool admin = false;  // by admin access, as monitors have it: beside the Pod that works on it
  bool operator==(const PostMortemDevice&) const = default;
};

// One record of a Pod. Times are those of this node's clock.
struct PostMortem {
  PodRef pod;
  int number = 1;  // of this Pod's records, from 1: a Pod that crashes again and again has several
  std::string node;
  PodEnd end = PodEnd::kGone;
  std::string reason;             // who decided it: "Evicted", "DeletionByTaintManager"; or ""
  std::optional<WallTime> asked;  // when its deletion was requested
  std::optional<WallTime> began;  // when the Pod began to run
  WallTime first{};   // the first crash; the earliest possible end where nobody saw the end
  WallTime ended{};   // the end, or the last of the crashes in this record
  bool over = false;  // the Pod will not run again
  std::string owner;  // uid of what controls it, which its siblings have too; or ""
  bool exact = true;  // false: the end was somewhere between `first` and `ended`
  std::vector<ContainerEnd> containers;
  std::vector<PostMortemDevice> devices;  // most relevant finding first (relevant_finding.h)
  int devices_left_out = 0;               // past the bounds below
  Verdict verdict;
  bool published = false;  // in an Event
  bool operator==(const PostMortem&) const = default;

  // The record's window: from five minutes before to five minutes after.
  WallTime from() const { return first - kCrashWindow; }
  WallTime until() const { return ended + kCrashWindow; }
};

// Whether the container crashed: it ended badly, and not because its Pod was deleted. In a deleted
// Pod an end of unknown time counts as caused by the deletion.
bool IsCrash(const PostMortem& record, const ContainerEnd& end);
// Whether any container crashed.
bool HasCrash(const PostMortem& record);

// Limit of one record; with names as long as Kubernetes takes them it stays below
// kPostMortemBytesMax, for devices that are too many are left out.
inline constexpr std::size_t kMortemDevicesMax = 64;
inline constexpr std::size_t kMortemFindingsMax = 24;  // of a device: the first, and the newest
inline constexpr std::size_t kMortemContainersMax = 32;
inline constexpr std::size_t kMortemEvidenceMax = 8;
inline constexpr std::size_t kMortemEvidenceBytesMax = 512;  // a sentence
inline constexpr std::size_t kMortemMessageBytesMax = 1024;  // of a termination message
inline constexpr std::size_t kPostMortemBytesMax = std::size_t{48} << 10;

// Leaves at most kMortemFindingsMax: the first, and those nearest to the crashes between `first`
// and `ended`. The signs that a verdict goes by lie from a minute before to some seconds after.
void BoundFindings(std::vector<ReceivedFinding>& findings, WallTime first, WallTime ended);

// The record with every text valid UTF-8, without control characters and within its bound, and with
// no more of anything than the bounds allow: reads back as it was written.
PostMortem Bounded(PostMortem record);

// REQUIRES: Bounded.
Json ToJson(const PostMortem& record);
// The reverse of ToJson; members that are not known are skipped. DataLoss for an unknown end.
StatusOr<PostMortem> ToPostMortem(const Json& json);

// A device as it is written in a record, and in a Pod's holdings.
Json ToJson(const PostMortemDevice& device);
StatusOr<PostMortemDevice> ToPostMortemDevice(const Json& json);
Json ToJson(const PodRef& pod);
PodRef ToPodRef(const Json& json);
void Bound(PodRef& pod);
void Bound(PostMortemDevice& device);  // but for how many findings it has
void Bound(ContainerEnd& end);

// A program's termination message, fit to be kept: lines without control characters, broken bytes
// and blank ends; of a long text the end is kept, which is the most useful part. Whoever shows it
// must still handle '\n'.
std::string CleanMessage(std::string_view text);

}  // namespace galen::history
