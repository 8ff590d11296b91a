// A picture prepared for many trials: which nodes could give these claims their devices if some
// claims had ended. Belongs to one thread; borrows the picture.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "alloc/explanation/picture.h"
#include "alloc/selection/allocator.h"
#include "alloc/selection/cel_engine.h"

namespace galen::alloc {

class Trial {
 public:
  Trial(const Picture& picture, const Options& options);
  Trial(const Trial&) = delete;

  struct Result {
    std::vector<std::size_t> nodes;  // those that fit, by their place in the picture
    bool error = false;              // upstream ends the attempt
    bool unsure = false;             // a search was given up
    std::string message;             // of the first of these two
  };
  // Asks the nodes that `reach` may use, in the picture's order; stops at the first that fits with
  // `first_only`.
  Result Fit(const PodReach& reach, const std::vector<ResourceClaim>& claims, bool first_only);
  // As `usage` is changed: of the claim at that place in the picture.
  void Release(std::size_t held) { usage_.Remove(picture_.held[held].allocation); }
  void Hold(std::size_t held) { usage_.Add(picture_.held[held].allocation); }

  const Picture& picture() const { return picture_; }
  const Inventory& inventory() const { return *inventory_; }
  Usage& usage() { return usage_; }
  SelectorMemo& memo() { return memo_; }

 private:
  const Picture& picture_;
  const std::unique_ptr<const Inventory> inventory_;
  Usage usage_;
  CelEngine engine_;
  SelectorMemo memo_;
};

// The claims with one request alone, and of `firstAvailable` one entry: its constraints stay as far
// as they are about it.
ResourceClaim Only(const ResourceClaim& claim, std::size_t request, std::size_t wish);

}  // namespace galen::alloc
