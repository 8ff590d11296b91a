// Decides whose fault the end of a Pod was: rules as data (verdict_rules.h) over what is known
// (model/crash_evidence.h). Pure.
#pragma once

#include "model/crash_evidence.h"
#include "model/verdict.h"

namespace galen {

// Never fails: where nothing ended badly, or there is no evidence, the answer is kUndetermined. A
// state of Unknown is evidence for nothing. Hardware is named only if a device that the ended
// container sees has a finding that is Degraded or Unhealthy with FaultOwner::kHardware; taking
// such findings away never raises the confidence in it. An application's fault called hardware
// costs a good device and hides the bug, so that a doubt always ends undetermined.
Verdict Judge(const CrashEvidence& evidence);

}  // namespace galen
