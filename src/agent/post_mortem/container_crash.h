// Containers that ended badly, read off a Pod's status: beside its devices' changes they show which
// of the two came first. Pure.
#pragma once

#include <vector>

#include "agent/health/change_log.h"
#include "kube/objects/pod.h"

namespace galen::agent {

// The bad ends that `after` shows and `before` does not, each as "container train, exit 134
// (SIGABRT)". A Pod that is seen for the first time (null) brings its past with it, which is no
// news; a container that ended well is no step of any fault.
std::vector<Crash> NewCrashes(const kube::Pod* before, const kube::Pod& after);

}  // namespace galen::agent
