// A ResourceClaim's requests, read together with its DeviceClasses, and limited to what first fit
// can decide. Values and one pure function; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/status.h"
#include "cluster_sim/allocation/toleration.h"
#include "model/claim.h"

namespace galen::cluster_sim {

// The driver that `expression` selects when it reads `device.driver == "name"`, with either kind of
// quotes and any spaces. InvalidArgument for every other expression: guessing what it selects could
// hand out a device that it excludes.
StatusOr<std::string> SelectedDriver(std::string_view expression);

// One way to satisfy a request: `exactly`, or one entry of `firstAvailable`.
struct DeviceWish {
  std::string request;  // as results name it: "main", or "main/sub"
  // By name; it exists.
  std::string device_class;
  std::vector<std::string> drivers;  // one for each selector; the device must be of all. Empty: any
  bool all = false;                  // allocationMode All
  // Devices wanted, at least 1 by the API's default; ignored with `all`.
  std::int64_t count = 1;
  // Also takes devices that other claims hold, without taking them away (adminAccess, KEP-5018).
  bool admin_access = false;
  // The most taints of a device.
  std::vector<Toleration> tolerations;
  Json class_config;  // the class's spec.config
};

// One entry of spec.devices.requests.
struct DeviceRequest {
  std::string name;
  std::vector<DeviceWish> wishes;  // the first that fits is taken
};

// A whole claim. Without requests it is satisfied by no devices.
struct ClaimRequests {
  std::vector<DeviceRequest> requests;
  Json config;  // the claim's spec.devices.config
};

// `claim` is a ResourceClaim that the API accepted; `classes` are all DeviceClasses by key {"",
// name}. FailedPrecondition when a class is missing (it may be created later), InvalidArgument for
// what first fit does not support: constraints, capacity requests, other CEL than SelectedDriver()
// knows. Each message names the class or the request.
StatusOr<ClaimRequests> ReadClaimRequests(const Json& claim,
                                          const std::map<ObjectKey, Json>& classes);

}  // namespace galen::cluster_sim
