// A GPU through the CUDA driver API. Each call makes the device's context that of the calling
// thread first, so any thread may call, one at a time for all devices of a CudaDriver. Calls block
// until the GPU has done the work, and may hang: never on a loop.
#pragma once

#include <memory>
#include <string>

#include "active/compute_device.h"
#include "active/cuda_driver.h"

namespace galen::active {

class CudaDevice final : public ComputeDevice {
 public:
  // Makes a context on it and compiles the kernels; seconds where the GPU sleeps. The driver, which
  // is lent, outlives the device. The context, and all memory in it, ends with the device.
  static StatusOr<std::unique_ptr<CudaDevice>> Open(CudaDriver& driver, CudaGpu gpu);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;

  std::string Model() const override { return gpu_.model; }
  StatusOr<std::uint64_t> FreeBytes() override;
  StatusOr<Address> Allocate(std::uint64_t bytes) override;
  Status Free(Address begin) override;
  Status Upload(std::span<const std::byte> bytes, Address to) override;
  Status Download(Address from, std::span<std::byte> bytes) override;
  // REQUIRES: `source` is a CudaDevice of the same driver.
  Status CopyFrom(ComputeDevice& source, Address from, Address to, std::uint64_t bytes) override;
  Status Fill(const Words& words, const Pattern& pattern) override;
  StatusOr<Mismatch> Compare(const Words& words, const Pattern& pattern) override;
  Status Multiply(MatrixKind kind, const Matrices& matrices) override;
  StatusOr<std::uint64_t> Checksum(Address elements, std::uint64_t count) override;

 private:
  CudaDevice(CudaDriver& driver, CudaGpu gpu) : driver_(driver), gpu_(std::move(gpu)) {}
  Status Start();
  // Runs `kernel` on `items` and waits for its end; `parameters` point to its arguments.
  Status Run(cuda::Function kernel, std::uint64_t items, std::initializer_list<void*> parameters);
  // Calls go to this GPU from now on.
  Status Use() { return driver_.Call(driver_.use_context, context_); }

  CudaDriver& driver_;
  const CudaGpu gpu_;
  cuda::Context context_ = nullptr;
  cuda::Function fill_ = nullptr, compare_ = nullptr, multiply_integers_ = nullptr,
                 multiply_floats_ = nullptr, checksum_ = nullptr;
  cuda::DevicePtr answer_ = 0;  // where kernels put what they found
};

}  // namespace galen::active
