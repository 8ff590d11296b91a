// What GPUs show, as what the devices that programs get show: the MIG instances of a GPU in the
// place of the GPU.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "probes/rules/sign.h"

namespace galen::probes {

// A device that a GPU is given to programs as.
struct MigInstance {
  std::string device{};
  unsigned gpu_instance = 0, compute_instance = 0;

  bool operator==(const MigInstance&) const = default;
};

// Passes signs of GPUs on. Of one that is cut into instances a sign is one of each of them, since
// heat, memory and links are the whole GPU's; an event that names an instance (Sign::part) is that
// one's alone, where it is known, else of all. Belongs to its loop.
class MigSpread final : public SignSink {
 public:
  // `sink` is lent and outlives the spread.
  explicit MigSpread(SignSink& sink) : sink_(sink) {}

  // From now on; of a GPU without an entry signs are its own.
  struct Cut {
    std::vector<MigInstance> instances{};
    bool whole = false;  // the GPU is a device, too, and all of its signs are its own as well

    bool operator==(const Cut&) const = default;
  };
  void SetCuts(std::map<std::string, Cut> cuts) { cuts_ = std::move(cuts); }

  void OnSigns(std::vector<Sign> signs) override;
  // The same of signs that are asked for.
  std::vector<Sign> Spread(std::vector<Sign> signs) const;

 private:
  SignSink& sink_;
  std::map<std::string, Cut> cuts_;  // by the GPU's name
};

}  // namespace galen::probes
