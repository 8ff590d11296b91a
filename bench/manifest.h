// The objects that a measurement needs: a namespace, a class for a driver's devices, a template of
// claims for one of them, and Pods that each hold one. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/data/json.h"
#include "kube/resource.h"

namespace galen::bench {

inline constexpr std::string_view kNamespace = "bench";

// An object and where its kind lives.
struct Manifest {
  kube::Resource resource;
  Json object;
};

// "pod-0" and on, in namespace kNamespace.
std::string PodName(int index);

// Pods that each hold devices of one driver.
struct PodPlan {
  std::string driver;
  int count = 1;
  int first = 0;    // "pod-7": numbers go on from one plan to the next
  int devices = 1;  // of each Pod
};

Manifest Namespace();
// DeviceClass and template, in the order in which they are to be made, named as the driver.
std::vector<Manifest> ClassOf(const PodPlan& plan);
// REQUIRES: Namespace() and ClassOf() were made.
std::vector<Manifest> PodsOf(const PodPlan& plan);

}  // namespace galen::bench
