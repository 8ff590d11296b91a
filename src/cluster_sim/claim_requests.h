// What a ResourceClaim asks for, read together with its DeviceClasses and checked against what
// first fit can decide. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cluster_sim/toleration.h"
#include "model/claim.h"

namespace galen::cluster_sim {

// One way to satisfy a request: `exactly`, or one entry of `firstAvailable`.
struct DeviceWish {
  std::string request;  // as results name it: "main", or "main/sub"
  std::string device_class;
  std::vector<std::string> drivers;  // each selector's; all must be the device's. Empty: any
  bool all = false;                  // allocationMode All
  std::int64_t count = 1;
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  Json class_config;  // the class's spec.config
};

struct DeviceRequest {
  std::string name;
  std::vector<DeviceWish> wishes;  // the first that fits is taken
};

struct ClaimRequests {
  std::vector<DeviceRequest> requests;
  Json config;  // the claim's spec.devices.config
};

// FailedPrecondition when a class is missing (it may come), InvalidArgument for what first fit does
// not support; each names the class or the request.
StatusOr<ClaimRequests> ReadClaimRequests(const Json& claim,
                                          const std::map<ObjectKey, Json>& classes);

}  // namespace galen::cluster_sim
