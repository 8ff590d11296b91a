// Changes of a cluster that somebody thinks of: a device taken out of use, a node drained or added,
// a Pod gone. Values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "alloc/explanation/picture.h"
#include "base/status.h"
#include "model/device.h"

namespace galen::alloc {

// A taint that lets nobody stay or come who does not tolerate it, as a DeviceTaintRule would set
// it.
struct Quarantine {
  TaintRule rule;
};
// Cordoned; its Pods go.
struct Drain {
  std::string node;
};
// Its claims give their devices back, unless other Pods use them.
struct DeletePod {
  ObjectKey pod;
};
// One more node like this one, with the same devices, all free.
struct AddNode {
  std::string like;
};
using Change = std::variant<Quarantine, Drain, DeletePod, AddNode>;

// "quarantine=DRIVER/POOL/DEVICE", "drain=NODE", "delete=NAMESPACE/POD", "add-node=NODE" (one like
// it). InvalidArgument for anything else, with what is understood.
StatusOr<Change> ParseChange(std::string_view text);
// "device gpu.example.com/node-1/gpu-0 is quarantined": behind "if ".
std::string ToString(const Change& change);

// What a change does to claims: those that lose their devices, by their place in Picture::held.
struct Changed {
  Picture picture;
  std::vector<std::size_t> victims;
};
// NotFound names a device, a node or a Pod with devices that the picture does not have. Claims
// whose Pods are deleted are gone from the picture; victims keep their devices in it, for the
// caller to find them others.
StatusOr<Changed> Apply(const std::vector<Change>& changes, const Picture& picture);

}  // namespace galen::alloc
