// Why a Pod gets its devices, or does not: a verdict, where the devices of each request go step by
// step, and what would change it. Pure; the same picture and question give the same answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/explanation/picture.h"
#include "alloc/selection/options.h"
#include "alloc/selection/reason.h"

namespace galen::alloc {

// Whether it fits, or would.
enum class Prospect {
  kNow,      // a node has all of it
  kLater,    // it would fit if claims ended, or devices and nodes came back
  kNever,    // not even the empty cluster has it
  kRefused,  // kube-scheduler ends its whole attempt, whatever else would fit: an error, no class
  kCannotTell,  // what is known is incomplete, or there are too many combinations
};
// "Now", "Later", "Never", "Refused", "CannotTell": stable, for output.
std::string_view ToString(Prospect prospect);

// Devices of a request's class that cannot be had for one reason.
struct FunnelStep {
  std::string code;  // stable: "InUse", "NodeRefused", "PoolIncomplete", …
  std::size_t devices = 0;
  std::string text;    // "in use"
  std::string detail;  // "train/trainer-0 and 33 more"; "": nothing to add
};

// Where the devices of one request's class are.
struct RequestFunnel {
  ObjectKey claim;
  std::string request;  // "gpu", "gpu/large"
  std::string class_name;
  bool all = false;
  std::int64_t wanted = 0;      // with ExactCount
  std::size_t of_class = 0;     // devices that its class selects, on all nodes
  std::size_t to_be_had = 0;    // of them, on nodes that the Pod may use
  std::size_t nodes_alone = 0;  // nodes that could give this request, alone, what it wants
  std::vector<FunnelStep> steps;
};

// A single change after which it fits, tried on the picture.
struct NearMiss {
  std::string code;  // stable: "ClaimEnds", "SelectorDropped", "TaintGone", "CountSmaller", …
  std::string text;  // behind "would fit if "
};

// What another release of kube-scheduler would do.
struct OtherRelease {
  int minor = 0;
  std::string text;
};

struct Explanation {
  Prospect prospect = Prospect::kCannotTell;
  std::string message;                  // with kRefused and kCannotTell: why
  std::vector<std::string> nodes;       // with kNow: all that fit, in order of names
  std::vector<Allocation> example;      // with kNow: on the first of them, by claim
  std::vector<RequestFunnel> requests;  // unless kNow
  std::vector<NearMiss> near_misses;
  std::vector<OtherRelease> other_releases;  // those that differ
  std::vector<std::string> warnings;         // selectors that can end the whole attempt
};

// Changes that are tried before an explanation names what it found.
inline constexpr std::size_t kTriesMax = 256;
// That are named of one kind.
inline constexpr std::size_t kNearMissesMax = 3;

Explanation Explain(const Picture& picture, const Question& question, const Options& options = {});

}  // namespace galen::alloc
