// The part of NVML's binary interface that we call, declared by us: NVIDIA's header is not needed
// to build, and no symbol to run. Numbers and layouts are those of nvml.h of CUDA 12
// (https://docs.nvidia.com/deploy/nvml-api), where they have stayed since the versions that the
// names carry (_v2, _v3). Included by the library's user and by the scripted library only.
#pragma once

#include <cstdint>

namespace galen::probes::nvml {

using Device = void*;
using EventSet = void*;

// nvmlReturn_t.
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidArgument = 2;
inline constexpr int kNotSupported = 3;
inline constexpr int kNoPermission = 4;
inline constexpr int kNotFound = 6;
inline constexpr int kDriverNotLoaded = 9;
inline constexpr int kTimeout = 10;
inline constexpr int kFunctionNotFound = 13;
inline constexpr int kCorruptedInforom = 14;
inline constexpr int kGpuIsLost = 15;
inline constexpr int kResetRequired = 16;
inline constexpr int kVersionMismatch = 18;  // NVML_ERROR_LIB_RM_VERSION_MISMATCH

// Sizes of texts: NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE and
// NVML_DEVICE_SERIAL_BUFFER_SIZE are 96, 96 and 30.
inline constexpr unsigned kTextSize = 96;

// nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];  // "00000000:4B:00.0"
};

// nvmlMemory_t, bytes.
struct Memory {
  unsigned long long total, free, used;
};

// nvmlUtilization_t, percent of the last sample period.
struct Utilization {
  unsigned gpu, memory;
};

// nvmlFieldValue_t. The value is a union in NVML: eight bytes read by value_type.
struct FieldValue {
  unsigned field_id, scope_id;
  long long timestamp, latency;
  int value_type;  // 0 double, 1 unsigned int, 2 unsigned long, 3 unsigned long long
  int result;      // of this field alone
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_long;
  } value;
};
inline constexpr unsigned kFieldMemoryTemperature = 82;  // NVML_FI_DEV_MEMORY_TEMP, °C
inline constexpr unsigned kFieldRecoveryAction = 230;    // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
// Fields of one NVLink 5; the scope is the link's number (NVML_FI_DEV_NVLINK_COUNT_…).
inline constexpr unsigned kFieldLinkReceiveErrors = 208;       // RCV_ERRORS: packets with errors
inline constexpr unsigned kFieldLinkRecoveries = 213;          // LINK_RECOVERY_SUCCESSFUL_EVENTS
inline constexpr unsigned kFieldLinkRecoveriesFailed = 214;    // LINK_RECOVERY_FAILED_EVENTS
inline constexpr unsigned kFieldLinkEffectiveErrors = 219;     // EFFECTIVE_ERRORS: not corrected
inline constexpr unsigned kFieldLinkEffectiveErrorRate = 220;  // EFFECTIVE_BER
inline constexpr unsigned kFieldLinkSymbolErrors = 221;        // SYMBOL_ERRORS: before correction
inline constexpr unsigned kFieldLinkSymbolErrorRate = 222;     // SYMBOL_BER

// How a bit error rate is packed (NVML_NVLINK_BER_…): mantissa times ten to the minus exponent.
inline constexpr unsigned long long kErrorRateExponent = 0xff;  // mask
inline constexpr unsigned kErrorRateMantissaShift = 8;
inline constexpr unsigned long long kErrorRateMantissa = 0xf;  // mask, once shifted
// The rate while there were no errors: the smallest that can be packed.
inline constexpr unsigned long long kErrorRateNone = 255;  // exponent

// nvmlGpuFabricInfo_t.
struct FabricInfo {
  unsigned char cluster_uuid[16];
  int status;  // an nvmlReturn_t, once it is completed
  unsigned clique_id;
  unsigned char state;
};
inline constexpr unsigned char kFabricNotSupported = 0;
inline constexpr unsigned char kFabricCompleted = 3;

// nvmlEventData_t of nvmlEventSetWait_v2.
struct EventData {
  Device device;
  unsigned long long type, data;            // data of an XID event is its number
  unsigned gpu_instance, compute_instance;  // of MIG, where it is about one
};
inline constexpr unsigned kNoInstance = 0xffffffff;

// nvmlDeviceAttributes_t of nvmlDeviceGetAttributes_v2: what a MIG device has.
struct DeviceAttributes {
  unsigned multiprocessors;
  unsigned shared_copy_engines, shared_decoders, shared_encoders, shared_jpegs, shared_optical_flow;
  unsigned gpu_instance_slices, compute_instance_slices;
  unsigned long long memory_mebibytes;
};
inline constexpr unsigned long long kEventXid = 0x8;  // nvmlEventTypeXidCriticalError

// nvmlClocksEventReasons: why the clocks are lower than they could be.
inline constexpr unsigned long long kSlowBySoftwareThermal = 0x20;
inline constexpr unsigned long long kSlowByHardwareThermal = 0x40;
inline constexpr unsigned long long kSlowByPowerBrake = 0x80;

// nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlTemperatureThresholds_t.
inline constexpr int kEccCorrected = 0;
inline constexpr int kEccUncorrected = 1;
inline constexpr int kEccSinceReset = 0;  // NVML_VOLATILE_ECC
inline constexpr int kEccEver = 1;        // NVML_AGGREGATE_ECC: kept by the board
inline constexpr int kTemperatureOfGpu = 0;
inline constexpr int kLimitShutdown = 0;
inline constexpr int kLimitSlowdown = 1;

inline constexpr unsigned kNvLinksMax = 18;  // NVML_NVLINK_MAX_LINKS

// nvmlNvLinkErrorCounter_t.
inline constexpr int kNvLinkReplays = 0;
inline constexpr int kNvLinkRecoveries = 1;
inline constexpr int kNvLinkCrcOfFlits = 2;
inline constexpr int kNvLinkCrcOfData = 3;

}  // namespace galen::probes::nvml
