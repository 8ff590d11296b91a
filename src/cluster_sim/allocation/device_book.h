// What drivers offer and which of it claims hold, read once and kept up to date, so that the
// scheduler asks `alloc` about one Pod after the other. Made anew when slices, rules or classes
// change. Belongs to the loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "alloc/selection/allocator.h"
#include "alloc/selection/cel_engine.h"
#include "base/data/json.h"
#include "model/claim.h"

namespace galen::cluster_sim {

class DeviceBook {
 public:
  using Objects = std::map<ObjectKey, Json>;

  // resource.k8s.io/v1 objects by key; not kept after the call. What cannot be read is left out,
  // and named in problems().
  DeviceBook(const Objects& slices, const Objects& rules, const Objects& classes,
             const Objects& claims);
  DeviceBook(const DeviceBook&) = delete;

  // A claim changed; null: it was not there, or is gone.
  void OnClaim(const Json* before, const Json* after);
  // A status.allocation that no claim shows yet; each Hold is followed by one Release.
  void Hold(const Json& allocation);
  void Release(const Json& allocation);

  const alloc::Inventory& inventory() const { return *inventory_; }
  const alloc::DeviceClasses& classes() const { return classes_; }
  const alloc::Usage& usage() const { return usage_; }
  alloc::SelectorMemo& memo() { return memo_; }
  // A sentence for each object that was left out.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::unique_ptr<const alloc::Inventory> Read(const Objects& slices, const Objects& rules);

  std::vector<std::string> problems_;
  const std::unique_ptr<const alloc::Inventory> inventory_;
  alloc::DeviceClasses classes_;
  alloc::Usage usage_;
  alloc::CelEngine engine_;
  alloc::SelectorMemo memo_;
};

}  // namespace galen::cluster_sim
