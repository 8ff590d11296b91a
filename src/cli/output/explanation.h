// The answer to "why": which devices a Pod holds, how they are, and the steps that led there.
// Values, and how they are printed; pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/claim.h"
#include "model/health.h"
#include "model/verdict.h"

namespace galen::cli {

// A device that the Pod holds, and the ResourceClaims of its own through which it does.
struct ExplainedDevice {
  DeviceIdentity identity;
  DeviceHealth health;
  std::string claim;
};

// One thing that happened, as its source put it.
struct ExplainedStep {
  WallTime time{};
  std::string kind;  // "sign", "change", "recorded", "published", "crash", "ended", …
  std::string text;
  std::string source;          // "gpu.example.com, report 812"
  std::string device = {};     // "driver/pool/device"; "" = of no single device
  std::string message = {};    // of a change: the sentence of the cause that it brought
  bool to_the_second = false;  // its source knows no fractions
};

// Everything there is to say of one Pod.
struct Explanation {
  ObjectKey pod;
  std::string node;
  std::vector<ExplainedDevice> devices;
  std::vector<ExplainedStep> steps;  // oldest first
  std::string note;                  // what could not be asked, or ""
  bool gone = false;                 // the Pod is not on its node any more
  std::optional<Verdict> verdict;    // on the last crash; nullopt: none, or nobody judged it
  std::string phase = {};            // the Pod's; "" when it is not known
  std::optional<WallTime> asked_to_go = {};  // when somebody deleted the Pod, which is still there
  bool devices_awaited = false;  // there may be more: which ones of a plugin's it has nobody said
};

// How an explanation is drawn.
struct DrawOptions {
  bool colour = false;
  // To wrap lines at, without the numbers of reports; 0: lines are as long as they come.
  std::size_t columns = 0;
};

// The picture that people read: the Pod, a paragraph for each device, a line for each step, the
// verdict; ends in a newline. Below a change stands its sentence, unless it is the device's present
// one, which is said above. Steps name their device when there are several. Times are UTC, with a
// line for each day that is not today's; ages are counted to `now`. Texts from outside are made
// printable.
std::string Draw(const Explanation& explanation, WallTime now, DrawOptions options);

}  // namespace galen::cli
