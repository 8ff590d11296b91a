// GPUs that are not there: they show usual signs until somebody injects others. What signs there
// are comes from the table of rules, so a new row needs no code here. Deterministic from its
// Random. Belongs to its loop.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop/loop.h"
#include "base/random.h"
#include "model/device.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// The lasting facts of a simulated GPU.
struct SimulatedGpu {
  std::string name{};         // "gpu-0"
  std::string model{};        // "H200"
  std::string serial{};       // "1653922005112"
  std::string uuid{};         // "GPU-7d4b…"
  std::string pci_address{};  // "0000:ff:1f.0": the far end of a bus that no machine has

  bool operator==(const SimulatedGpu&) const = default;
};

// Stands for the hardware of a whole node. Belongs to its loop.
class GpuSimulator final : public Probe {
 public:
  // As many devices as the agent takes of one driver; half of the buses that PCI can number.
  static constexpr int kCountMax = static_cast<int>(kNodeDevicesMax);
  // Names that Inject takes beside the table's: what brings a device back, and what blinds its
  // probe.
  static constexpr std::string_view kReset = "reset";
  static constexpr std::string_view kUnreadable = "unreadable";

  // Loop and `table` are lent and outlive the simulator. The same `random` gives the same devices.
  // REQUIRES: 1 <= count <= kCountMax.
  GpuSimulator(Loop& loop, Random random, const RuleTable& table, int count);

  const std::vector<SimulatedGpu>& devices() const { return devices_; }
  // Every reading and counter of every device. Never fails as a whole; events are not observed,
  // they are injected.
  StatusOr<std::vector<Sign>> Observe() override;

  // From now on `device` shows `value`, one of those that the table says the sign can have
  // (sign_value.h); an event happens once. Gives the signs that this shows at once, for the rule
  // engine. "reset" (value "gpu" or "host"; "" is host) ends every injected reading; "unreadable"
  // names a sign that cannot be read any more, until it is injected anew or the device is reset.
  // NotFound for a device or sign that there is not, InvalidArgument for a value that does not fit;
  // both say what there is.
  StatusOr<std::vector<Sign>> Inject(std::string_view device, std::string_view sign,
                                     std::string_view value);

 private:
  struct State {
    // By sign. What is in neither map shows the table's usual value.
    std::map<std::string, double, std::less<>> injected;
    std::set<std::string, std::less<>> unreadable;
    std::map<std::string, double, std::less<>> own;  // where this device differs from the usual
  };

  SimulatedGpu MakeDevice(int index);
  Sign Reading(const SimulatedGpu& device, const SignSpec& spec);
  StatusOr<std::vector<Sign>> InjectReset(const std::string& device, std::string_view value);
  StatusOr<std::vector<Sign>> InjectUnreadable(const SimulatedGpu& device, std::string_view sign);
  const SimulatedGpu* Find(std::string_view device) const;
  std::string SignNames() const;

  Loop& loop_;
  Random random_;
  const RuleTable& table_;
  std::set<std::string, std::less<>> has_best_;  // signs that rules compare with what is expected
  std::vector<SimulatedGpu> devices_;
  std::map<std::string, State, std::less<>> states_;
};

}  // namespace galen::probes
