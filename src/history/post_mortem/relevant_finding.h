// Selects, from all that is known of a record's devices, what a person is shown first: a fault that
// was there when the Pod ended, one that was over by then, or one that came after. Pure.
#pragma once

#include <optional>
#include <string>

#include "history/post_mortem/post_mortem.h"

namespace galen::history {

// A driver that polls dates a fault by when it saw it: so long after an end one may have been there
// already.
inline constexpr Duration kSeenLate = std::chrono::seconds(5);

// A finding of a record, which must outlive this.
struct RelevantFinding {
  // When the finding held, against the end of the Pod.
  enum class When {
    kAtTheEnd,
    kBefore,  // over by then, while the Pod was there
    kAfter,   // the device may have been another Pod's by then
  };
  const ReceivedFinding* finding = nullptr;
  When when = When::kAtTheEnd;
  Duration away{};  // between it and the end; zero at the end
};

// The worst finding that was in force while the Pod ended; nullptr when nothing is known of then.
const ReceivedFinding* FindingAtTheEnd(const PostMortem& record, const PostMortemDevice& device);

// The most relevant fault: one at the end before one that was over, before one after it; of equals
// the worst. Without a fault FindingAtTheEnd; nullopt without that. Faults that were over when the
// Pod began are ignored.
std::optional<RelevantFinding> MostRelevantFinding(const PostMortem& record,
                                                   const PostMortemDevice& device);
// The most relevant finding of all its devices.
std::optional<RelevantFinding> MostRelevantFinding(const PostMortem& record);

// The device of that finding; the first device where there is no finding. REQUIRES: there is one.
// (Records of earlier versions have them in another order.)
const PostMortemDevice& MostRelevantDevice(const PostMortem& record);

// Whether `a` is more relevant than `b`; a strict weak order.
bool IsMoreRelevant(const std::optional<RelevantFinding>& a,
                    const std::optional<RelevantFinding>& b);

// Whether it is a fault, Degraded or Unhealthy. Unknown is not a fault.
bool IsFault(const RelevantFinding& relevant);
// Whether a device of the record had a fault that the Pod may have felt: one to alarm people with,
// for later the device may have been another Pod's.
bool HadFaultByItsEnd(const PostMortem& record);
// The same, or one that came soon after it.
bool HasFault(const PostMortem& record);

// Why, and of a fault that was not there at the end when: "XID 79: GPU has fallen off the bus",
// "Unhealthy 13s after the end: XID 79", "Unhealthy until 76s before the end: XID 79".
std::string DetailOf(const RelevantFinding& relevant);

}  // namespace galen::history
