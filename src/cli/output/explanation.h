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

// A device that the Pod holds, and the Pod's ResourceClaims for it.
struct ExplainedDevice {
  DeviceIdentity identity;
  DeviceHealth health;
  std::string claim;
};

// A step, worded by its source.
struct ExplainedStep {
  WallTime time{};
  std::string kind;  // "sign", "change", "recorded", "published", "crash", "ended", …
  std::string text;
  std::string source;          // "gpu.example.com, report 812"
  std::string device = {};     // "driver/pool/device"; "" = of no single device
  std::string message = {};    // of a change: the sentence of the cause that it brought
  bool to_the_second = false;  // its time has whole seconds
};

// Everything that is known of one Pod.
struct Explanation {
  ObjectKey pod;
  std::string node;
  std::vector<ExplainedDevice> devices;
  std::vector<ExplainedStep> steps;          // oldest first
  std::string note;                          // what could not be asked, or ""
  bool gone = false;                         // the Pod is not on its node any more
  std::optional<Verdict> verdict;            // on the last crash; nullopt: none, or not judged
  std::string phase = {};                    // the Pod's; "" when it is not known
  std::optional<WallTime> asked_to_go = {};  // when somebody deleted the Pod, which is still there
  // the list may be incomplete: which of a device plugin's devices it has is not known yet
  bool devices_awaited = false;
};

// How an explanation is drawn.
struct DrawOptions {
  bool colour = false;
  // The width for wrapping, without the numbers of reports; 0: no wrapping.
  std::size_t columns = 0;
};

// The picture that people read: the Pod, a paragraph for each device, a line for each step, the
// verdict; ends in a newline. Below a change is its sentence, unless it is the device's present
// one, which is shown above. Steps name their device when there are several. Times are UTC, with a
// line for each day that is not today's; ages are counted to `now`. Texts from outside are made
// printable.
std::string Draw(const Explanation& explanation, WallTime now, DrawOptions options);

}  // namespace galen::cli
