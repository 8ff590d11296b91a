// The objects that a measurement needs: a namespace, a class for a driver's devices, a template of
// claims for one of them, and Pods that each hold one. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
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

// Namespace, DeviceClass and template, in the order in which they are to be made. Class and
// template are named as the driver.
std::vector<Manifest> ClassOf(const std::string& driver);
// `count` Pods that each want one device of that class. REQUIRES: ClassOf() was made.
std::vector<Manifest> PodsOf(const std::string& driver, int count);

}  // namespace galen::bench
