// The interface to one kind of hardware: which devices there are, what signs they show, and what a
// container needs to use them; and the kinds themselves. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "driver/edges.h"
#include "driver/nvidia_files.h"
#include "galen/driver.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/network/network_interface.h"
#include "probes/nvml/mig_spread.h"
#include "probes/nvml/nvml_probe.h"
#include "probes/nvml/xid_merger.h"
#include "probes/rules/sign.h"
#include "probes/simulator/simulator.h"
#include "sdk/app/simulator_service.h"

namespace galen::device_driver {

// Receives what the hardware reports by itself. From the loop only.
struct HardwareEvents {
  probes::SignSink& signs;           // its signs
  std::function<void()> look_again;  // there is something to observe
};

// What is specific to a kind of hardware; DeviceDriver does the rest. Observe(), of Probe, returns
// the present signs of all devices.
class Hardware : public probes::Probe {
 public:
  // The devices there are now. May block for a moment to read files; an error means that devices
  // could not be listed, an empty list that there are none.
  virtual StatusOr<Inventory> Devices() = 0;
  // What a container gets that uses `device`: environment, device nodes. Empty for a device that is
  // not there. A failure: some of it was there when CanPrepare looked, and is no more; with part of
  // it no container may start.
  virtual DeviceEdits EditsFor(const std::string& device) const = 0;
  // Why no claim with this device can be prepared now: a sentence for the Pod's Event, with what to
  // do. OK: nothing known prevents it. May read a few files.
  virtual Status CanPrepare(const std::string&) const { return OkStatus(); }
  // Starts to listen for signs that the hardware reports by itself. Once; `events` outlives the
  // hardware.
  virtual Status Start(HardwareEvents& events) = 0;
  // Ends the processes that it has started. The last call, once the loop has ended: a program that
  // does not wait for its threads must not leave these behind.
  virtual void EndProcesses() {}
  // Whether it has threads in calls that may never return: a program that ends must not wait for
  // them.
  virtual bool may_hang() const { return false; }
};

// The GPUs of galen-driver: simulated ones, which show injected signs, and optionally what the real
// kernel log says about their PCI addresses. Belongs to its loop.
class GpuHardware final : public Hardware, public sdk::SimulatedDevices {
 public:
  // Which GPUs to simulate.
  struct Options {
    int count = 8;  // gpu-0 to gpu-(count-1)
    // The same seed gives the same GPUs, with the same serials and addresses, so that a restart
    // finds its devices again.
    std::string seed = {};
    bool shared = false;  // claims may hold parts of a GPU's memory, many at once
  };

  // `kernel_log` may be null: then the kernel log is not read.
  GpuHardware(Edges edges, Options options, std::unique_ptr<probes::KernelLogSource> kernel_log);

  // The simulated GPUs; always the same ones, and never an error.
  StatusOr<Inventory> Devices() override;
  DeviceEdits EditsFor(const std::string& device) const override;
  Status Start(HardwareEvents& events) override;
  StatusOr<std::vector<probes::Sign>> Observe() override { return simulator_.Observe(); }

  std::vector<Sign> InjectableSigns() const override;
  std::vector<std::string> Names() const override;
  // REQUIRES: started.
  StatusOr<WallTime> Inject(std::string_view device, std::string_view sign,
                            std::string_view value) override;

 private:
  Edges edges_;
  const bool shared_;
  probes::GpuSimulator simulator_;
  std::unique_ptr<probes::KernelLogSource> kernel_log_source_;
  std::unique_ptr<probes::KernelLog> kernel_log_;
  HardwareEvents* events_ = nullptr;
};

// The network interfaces of galen-driver. Looks at sysfs at the driver's pace, and at once when the
// kernel says that a link changed. Belongs to its loop.
class NicHardware final : public Hardware {
 public:
  // Gets the names of interfaces that changed; empty: look at all.
  using LinkNews = std::function<void(const std::vector<std::string>&)>;
  // Begins to watch links; the real one is a LinkWatch.
  using Listen = std::function<Status(LinkNews)>;

  // `options` selects the interfaces that are devices. The loop and files outlive the hardware.
  NicHardware(Loop& loop, FileSystem& files, probes::NetworkProbe::Options options, Listen listen)
      : probe_(loop, files, std::move(options)), listen_(std::move(listen)) {}

  StatusOr<Inventory> Devices() override;
  DeviceEdits EditsFor(const std::string& device) const override;
  Status Start(HardwareEvents& events) override;
  StatusOr<std::vector<probes::Sign>> Observe() override { return probe_.Observe(); }

 private:
  void OnLinkNews(HardwareEvents& events, const std::vector<std::string>& names);

  probes::NetworkProbe probe_;
  const Listen listen_;
};

// The NVIDIA GPUs of this machine: read through NVML, and optionally from the real kernel log by
// their PCI addresses. Belongs to its loop.
class NvidiaHardware final : public Hardware {
 public:
  // The GPUs, and how to look up what belongs to them.
  struct Options {
    std::vector<probes::NvmlGpu> gpus{};  // as NVML lists them
    std::string driver_version{};         // "570.124.06"
    // The files that containers need beside their GPUs, looked for at each claim: some device nodes
    // appear with the first program that computes.
    std::function<NvidiaFiles()> find_files{};
    // The version of the loaded kernel module; "": not known.
    std::function<std::string()> module_version{};
    // By PCI address: the NUMA node, where sysfs knows one.
    std::map<std::string, std::int64_t> numa_nodes{};
    // The device nodes of a MIG instance of the GPU /dev/nvidiaN, looked for at each claim.
    std::function<StatusOr<std::vector<std::string>>(int minor, const probes::NvmlPartition&)>
        find_mig_nodes{};
    // Whether GPUs that are cut into MIG instances are listed as devices too. Only safe where no
    // claims are prepared, so that none can get a whole GPU; sources that match devices by their
    // GPU then find it.
    bool with_partitioned = false;
  };

  // `nvml` is borrowed; `kernel_log` may be null: then the kernel log is not read.
  NvidiaHardware(Edges edges, Options options, probes::Nvml& nvml,
                 std::function<std::unique_ptr<DiskQueue>()> make_queue,
                 std::unique_ptr<probes::KernelLogSource> kernel_log);

  // The GPUs that were there at the start, gpu-N by /dev/nvidiaN: one that is lost stays,
  // Unhealthy. GPUs that NVML cannot describe are left out. A GPU that is cut into MIG instances is
  // replaced by these, gpu-N-mig-I-C by the numbers of GPU and compute instance; they come and go
  // while the driver runs.
  StatusOr<Inventory> Devices() override;
  DeviceEdits EditsFor(const std::string& device) const override;
  // FailedPrecondition while no library that containers would get is of the module's version:
  // their programs could not use a GPU.
  // Nor one of a GPU that is cut into MIG instances, or of which nothing has said that it is not.
  // Nor one of a MIG instance that the kernel module does not have any more, or that has another
  // UUID than Devices() said last; which one a claim was allocated for nobody knows here.
  Status CanPrepare(const std::string& device) const override;
  Status Start(HardwareEvents& events) override;
  StatusOr<std::vector<probes::Sign>> Observe() override;
  bool may_hang() const override { return true; }

 private:
  // What a device is: a GPU or, with `instance`, one of its MIG instances.
  struct Found {
    const probes::NvmlGpu* gpu = nullptr;
    const probes::NvmlPartition* partition = nullptr;
  };
  Found Find(const std::string& device) const;
  Status CanPrepareWhole(const std::string& device) const;
  Device DeviceOf(const std::string& name, const probes::NvmlGpu& gpu) const;
  Device DeviceOf(const std::string& name, const probes::NvmlGpu& gpu,
                  const probes::NvmlPartition& partition) const;

  Edges edges_;
  const Options options_;
  const std::map<std::string, probes::NvmlGpu> gpus_;  // by device name
  probes::NvmlProbe probe_;
  std::unique_ptr<probes::MigSpread> spread_;
  std::map<std::string, probes::MigSpread::Cut> cuts_;  // by the GPU's name
  // UUIDs of MIG instances in the last Devices(), by device
  std::map<std::string, std::string> shown_uuids_;
  std::unique_ptr<probes::KernelLogSource> kernel_log_source_;
  std::unique_ptr<probes::XidMerger> merger_;
  std::unique_ptr<probes::KernelLog> kernel_log_;
};

}  // namespace galen::device_driver
