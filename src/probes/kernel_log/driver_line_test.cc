// Lines as the kernel's drivers write them, from their sources, and as others forge them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "probes/kernel_log/kernel_log.h"
#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

struct Line {
  std::string_view table, subsystem, device, text, sign;
  double value = 1;
};

// As dev_printk writes it, with its properties.
KernelRecord RecordOf(const Line& line) {
  KernelRecord record;
  record.text = line.text;
  record.properties = {{"SUBSYSTEM", std::string(line.subsystem)},
                       {"DEVICE", std::string(line.device)}};
  return record;
}

std::vector<KernelFault> FaultsOf(const Line& line, const KernelRecord& record) {
  const StatusOr<RuleTable> table = ParseRules(BuiltInRules(line.table), line.table);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return table.ok() ? FaultsBySigns(record, table->signs) : std::vector<KernelFault>();
}

class DriverLineTest : public ::testing::TestWithParam<Line> {};

TEST_P(DriverLineTest, IsAFaultWhereTheKernelItselfNamesTheDevice) {
  const Line& line = GetParam();
  const KernelRecord record = RecordOf(line);
  const std::vector<KernelFault> faults = FaultsOf(line, record);
  ASSERT_EQ(faults.size(), 1u) << line.text;
  EXPECT_EQ(faults[0].sign, line.sign);
  EXPECT_EQ(faults[0].value, line.value);
  EXPECT_EQ(faults[0].pci_function, line.subsystem == "pci" ? line.device.substr(5) : "");
  EXPECT_EQ(faults[0].kernel_name, line.subsystem == "nvme" ? "nvme:nvme0" : "");
}

TEST_P(DriverLineTest, IsNoneWhereAnybodyMayHaveWrittenIt) {
  const Line& line = GetParam();
  KernelRecord record = RecordOf(line);
  record.properties.clear();
  EXPECT_TRUE(FaultsOf(line, record).empty()) << "text alone";
  record = RecordOf(line);
  record.facility = kFacilityUser;
  EXPECT_TRUE(FaultsOf(line, record).empty()) << "written into /dev/kmsg";
  record = RecordOf(line);
  record.properties["SUBSYSTEM"] = "usb";
  EXPECT_TRUE(FaultsOf(line, record).empty()) << "a device of another bus";
  record = RecordOf(line);
  record.properties.erase("DEVICE");
  EXPECT_TRUE(FaultsOf(line, record).empty());
  record = RecordOf(line);
  // What a driver quotes, such as a process's name, is behind words of its own.
  const std::size_t rest = record.text.find(": ") + 2;
  record.text.insert(rest, "Process information: process ");
  EXPECT_TRUE(FaultsOf(line, record).empty()) << record.text;
  record = RecordOf(line);
  record.text = "other" + record.text;
  EXPECT_TRUE(FaultsOf(line, record).empty()) << "another driver";
  if (line.subsystem != "pci") return;
  record = RecordOf(line);
  record.properties["DEVICE"] = "+pci:0000:99:00.0";
  EXPECT_TRUE(FaultsOf(line, record).empty()) << "the text names another device";
}

constexpr std::string_view kPci = "pci";
constexpr std::string_view kCard = "+pci:0000:08:00.0";

INSTANTIATE_TEST_SUITE_P(
    Known, DriverLineTest,
    ::testing::Values(
        Line{"mlx5", kPci, kCard,
             "mlx5_core 0000:08:00.0: poll_health:825:(pid 0): device's health compromised - "
             "reached miss count",
             "mlx5-health"},
        Line{"mlx5", kPci, kCard,
             "mlx5_core 0000:08:00.0: poll_health:1151: device's health compromised - reached "
             "miss count",
             "mlx5-health"},
        Line{"mlx5", kPci, kCard,
             "mlx5_core 0000:08:00.0: poll_health:802:(pid 0): Fatal error 3 detected",
             "mlx5-fatal", 3},
        Line{"mlx5", kPci, kCard,
             "mlx5_core 0000:08:00.0: print_health_info:425:(pid 0): Health issue observed, "
             "firmware internal error, severity(3) ERROR:",
             "mlx5-issue", 3},
        Line{"mlx5", kPci, kCard,
             "mlx5_core 0000:08:00.0: wait_func:1195:(pid 1967079): ENABLE_HCA(0x104) timeout. "
             "Will cause a leak of a command resource",
             "mlx5-command-timeout"},
        Line{"mlx5", kPci, kCard,
             "mlx5_core 0000:08:00.0: temp_warn:174:(pid 0): High temperature on sensors with bit "
             "set 0x0 0x1",
             "mlx5-temperature"},
        Line{"mlx5", kPci, kCard,
             "mlx5_core 0000:08:00.0: port_module:252:(pid 0): Port module event[error]: module 1, "
             "Cable error, High Temperature",
             "mlx5-module", 1},
        Line{"mlx5", kPci, kCard,
             "mlx5_core 0000:08:00.0: mlx5_pcie_event:326:(pid 165): Detected insufficient power "
             "on the PCIe slot (27W).",
             "mlx5-slot-power"},
        Line{"amdgpu", kPci, kCard,
             "amdgpu 0000:08:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
             "amdgpu-uncorrected", 2},
        Line{"amdgpu", kPci, kCard,
             "amdgpu 0000:08:00.0: amdgpu: {7}socket: 0, die: 1, 12 new uncorrectable hardware "
             "errors detected in gfx block",
             "amdgpu-uncorrected", 12},
        Line{"amdgpu", kPci, kCard,
             "amdgpu 0000:08:00.0: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) "
             "detected!",
             "amdgpu-fatal"},
        Line{"amdgpu", kPci, kCard,
             "amdgpu 0000:08:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) "
             "detected!",
             "amdgpu-fatal"},
        Line{"amdgpu", kPci, kCard, "amdgpu 0000:08:00.0: amdgpu: device lost from bus!",
             "amdgpu-lost"},
        Line{"amdgpu", kPci, kCard, "amdgpu 0000:08:00.0: amdgpu: GPU Recovery Failed: -19",
             "amdgpu-recovery-failed"},
        Line{"amdgpu", kPci, kCard, "amdgpu 0000:08:00.0: amdgpu: GPU reset begin!. Source:  1",
             "amdgpu-reset"},
        Line{"nvme", "nvme", "c241:0",
             "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
             "nvme-down"},
        Line{"nvme", "nvme", "c241:0", "nvme nvme0: Disabling device after reset failure: -19",
             "nvme-dead"},
        Line{"nvme", "nvme", "c241:0", "nvme nvme0: Removing after probe failure status: -19",
             "nvme-dead"},
        Line{"nvme", "nvme", "c241:0", "nvme nvme0: I/O 12 QID 3 timeout, aborting",
             "nvme-timeout"},
        // Kernel 6.2 names the command.
        Line{"nvme", "nvme", "c241:0", "nvme nvme0: I/O 0 (I/O Cmd) QID 2 timeout, aborting",
             "nvme-timeout"},
        Line{"nvme", "nvme", "c241:0",
             "nvme nvme0: I/O tag 12 (100c) opcode 0x2 (I/O Cmd) QID 3 timeout, aborting "
             "req_op:READ(0) size:4096",
             "nvme-timeout"}));

TEST(DriverLine, WhatOnlyLooksLikeAFaultIsNone) {
  for (const std::string_view text :
       {"amdgpu 0000:08:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:08:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:08:00.0: amdgpu: 3 correctable hardware errors detected in umc block",
        "amdgpu 0000:08:00.0", "amdgpu", "", "amdgpu  : device lost from bus!"}) {
    const Line line{"amdgpu", kPci, kCard, text, ""};
    EXPECT_TRUE(FaultsOf(line, RecordOf(line)).empty()) << text;
  }
}

// A whole record as /dev/kmsg gives it.
TEST(DriverLine, IsReadFromItsBytes) {
  const StatusOr<KernelRecord> record = ParseKernelRecord(
      "4,1189,48108400,-;nvme nvme0: controller is down; will reset: CSTS=0xffffffff, "
      "PCI_STATUS=0x10\n SUBSYSTEM=nvme\n DEVICE=c241:0\n");
  ASSERT_TRUE(record.ok());
  const auto faults = FaultsOf({.table = "nvme"}, *record);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].raw,
            "kernel log: nvme nvme0: controller is down; will reset: CSTS=0xffffffff, "
            "PCI_STATUS=0x10");
}

}  // namespace
}  // namespace galen::probes
