// The processor and the memory of this machine, for machines without a GPU and as the reference of
// what kernels mean. Calls compute on the thread that makes them, for up to seconds, so never on a
// loop; any thread, one at a time.
#pragma once

#include <map>
#include <string>

#include "active/compute_device.h"
#include "base/files/file_system.h"

namespace galen::active {

class CpuDevice final : public ComputeDevice {
 public:
  // Where the kernel says how much memory is free. A control group's bound counts, too: a process
  // that takes more is killed.
  struct Places {
    std::string meminfo = "/proc/meminfo";
    std::string cgroup = "/sys/fs/cgroup";
  };

  // `files` is lent.
  CpuDevice(FileSystem& files, Places places);
  ~CpuDevice() override;
  CpuDevice(const CpuDevice&) = delete;

  std::string Model() const override { return "processor"; }
  StatusOr<std::uint64_t> FreeBytes() override;
  StatusOr<Address> Allocate(std::uint64_t bytes) override;
  Status Free(Address begin) override;
  Status Upload(std::span<const std::byte> bytes, Address to) override;
  Status Download(Address from, std::span<std::byte> bytes) override;
  Status CopyFrom(ComputeDevice& source, Address from, Address to, std::uint64_t bytes) override;
  Status Fill(const Words& words, const Pattern& pattern) override;
  StatusOr<Mismatch> Compare(const Words& words, const Pattern& pattern) override;
  Status Multiply(MatrixKind kind, const Matrices& matrices) override;
  StatusOr<std::uint64_t> Checksum(Address elements, std::uint64_t count) override;

 private:
  FileSystem& files_;
  const Places places_;
  std::map<Address, std::uint64_t> blocks_;  // with their sizes
};

}  // namespace galen::active
