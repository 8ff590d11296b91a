// One claim as the Container Device Interface describes it to a container runtime: a JSON file with
// a device for each device of the claim. Pure. Format:
// https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/data/json.h"
#include "galen/driver.h"

namespace galen::sdk {

// The edits to a container for each device of one claim.
struct ClaimEdits {
  std::map<std::string, CdiEdits> devices;  // by device name
  bool operator==(const ClaimEdits&) const = default;
};

// "fpga.example.com/claim": the vendor is the driver, the class is ours.
std::string CdiKind(std::string_view driver);
// "fpga.example.com/claim=<uid>-fpga-0": unique on the node, stable for the claim's life. The
// kubelet passes it to the container runtime, and shows the first one of a device as its resourceID
// on the Pod.
std::string CdiId(std::string_view driver, std::string_view claim_uid, std::string_view device);
// "fpga.example.com-claim_<uid>.json"
std::string CdiFileName(std::string_view driver, std::string_view claim_uid);

// The same three names for devices of a device plugin, which no claim holds: one file for each
// driver, with all its devices. "fpga.example.com/device", "fpga.example.com/device=fpga-0" and
// "fpga.example.com-device.json".
std::string CdiDeviceKind(std::string_view driver);
std::string CdiDeviceId(std::string_view driver, std::string_view device);
std::string CdiDeviceFileName(std::string_view driver);

// Whether `driver` can be a vendor (CDI's SPEC.md): a letter first, a letter or digit last, "-",
// "_", "." between.
bool IsCdiVendor(std::string_view driver);

// InvalidArgument names what a container runtime would refuse: there it would keep the whole Pod
// from starting, with an error far from its cause.
Status ValidateEdits(const CdiEdits& edits);

// The whole file's content. A device without edits is listed as well, since its id must resolve.
// REQUIRES: valid edits.
Json MakeCdiSpec(std::string_view driver, std::string_view claim_uid, const ClaimEdits& edits);
// The CDI file of devices that are given out without claims. REQUIRES: valid edits, none of them
// empty.
Json MakeCdiDeviceSpec(std::string_view driver, const std::map<std::string, CdiEdits>& edits);

}  // namespace galen::sdk
