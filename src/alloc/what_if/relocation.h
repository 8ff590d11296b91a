// Whether claims that lose their devices can all have others at once. Pure.
#pragma once

#include <string>
#include <vector>

#include "alloc/explanation/picture.h"
#include "alloc/selection/options.h"
#include "alloc/what_if/change.h"

namespace galen::alloc {

// One claim that loses its devices.
struct Victim {
  ObjectKey claim;
  std::vector<ObjectKey> pods;
  std::vector<DeviceId> lost;
  std::string node = {};             // where it can have others; "": nowhere
  std::vector<DeviceId> found = {};  // there
};

struct Relocation {
  enum class Verdict {
    kAll,         // each victim has a place, all at once
    kNotAll,      // no way to place all was found, with the devices that each node would give
    kCannotTell,  // not all ways were tried, or what some victim asked for is not known
  };
  Verdict verdict = Verdict::kAll;
  // In the order of their names; those that found a place are the most that were placed at once.
  std::vector<Victim> victims;
  // Claims that keep their devices and want all of a kind: before the changes they could start
  // anew, after them they could not (allocationMode All needs each device that matches).
  std::vector<ObjectKey> blocked;
};

// Places of victims on nodes that are tried.
inline constexpr std::size_t kPlacesMax = 20'000;

// Victims that share a Pod go to one node, which that Pod may use, where its other claims have
// their devices. `before` is the picture that was changed.
Relocation Relocate(const Changed& changed, const Picture& before, const Options& options);

}  // namespace galen::alloc
