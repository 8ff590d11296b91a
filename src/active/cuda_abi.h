// The part of the CUDA driver API's binary interface that we call, declared by us: NVIDIA's header
// is not needed to build, and no library to start. Types and numbers are those of cuda.h of CUDA 12
// (https://docs.nvidia.com/cuda/cuda-driver-api), where they have stayed since the versions that
// the names carry (_v2). Included by the library's user and by the scripted library only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace galen::active::cuda {

using Device = int;               // CUdevice
using DevicePtr = std::uint64_t;  // CUdeviceptr
using Context = void*;            // CUcontext
using Module = void*;             // CUmodule
using Function = void*;           // CUfunction
using Stream = void*;             // CUstream

// CUuuid.
struct Uuid {
  unsigned char bytes[16];
};

// CUresult.
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNotInitialized = 3;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kInvalidImage = 200;
inline constexpr int kEccUncorrectable = 214;
inline constexpr int kNvlinkUncorrectable = 220;
inline constexpr int kContained = 221;  // CUDA_ERROR_CONTAINED, since CUDA 12.6
inline constexpr int kNotFound = 500;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kUnknown = 999;

}  // namespace galen::active::cuda
