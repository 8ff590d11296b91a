// Turns signs of GPUs into signs of the devices that programs get: a GPU's MIG instances in the
// place of the GPU.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "probes/rules/sign.h"

namespace galen::probes {

// A MIG instance as a device.
struct MigInstance {
  std::string device{};
  unsigned gpu_instance = 0, compute_instance = 0;

  bool operator==(const MigInstance&) const = default;
};

// Passes signs of GPUs on. A sign of a GPU that is cut into instances becomes one of each instance,
// since heat, memory and links are the whole GPU's; an event that names a known instance
// (Sign::part) is that instance's alone. Belongs to its loop.
class MigSpread final : public SignSink {
 public:
  // `sink` is lent and outlives the spread.
  explicit MigSpread(SignSink& sink) : sink_(sink) {}

  // How GPUs are cut from now on; a GPU without an entry keeps its signs.
  struct Cut {
    std::vector<MigInstance> instances{};
    bool whole = false;  // the GPU is a device, too, and all of its signs are its own as well

    bool operator==(const Cut&) const = default;
  };
  void SetCuts(std::map<std::string, Cut> cuts) { cuts_ = std::move(cuts); }

  void OnSigns(std::vector<Sign> signs) override;
  // The signs, spread as OnSigns does it.
  std::vector<Sign> Spread(std::vector<Sign> signs) const;

 private:
  SignSink& sink_;
  std::map<std::string, Cut> cuts_;  // by the GPU's name
};

}  // namespace galen::probes
