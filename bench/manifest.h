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

// "pod-0"
std::string PodName(int index);

// In the order in which they are to be made.
std::vector<Manifest> ClassOf(const std::string& driver);
std::vector<Manifest> PodsOf(const std::string& driver, int count);

}  // namespace galen::bench
