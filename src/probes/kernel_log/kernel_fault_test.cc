#include <fmt/format.h>
#include <gtest/gtest.h>

#include "probes/kernel_log/kernel_log.h"

namespace galen::probes {
namespace {

std::vector<KernelFault> FaultsInLine(std::string text, int facility = kFacilityKernel) {
  KernelRecord record;
  record.text = std::move(text);
  record.facility = facility;
  return FaultsIn(record);
}

// As the kernel's dev_printk writes it about the device that its text names.
KernelRecord RecordOfDevice(std::string text) {
  KernelRecord record;
  record.text = std::move(text);
  const std::size_t address = record.text.find(' ') + 1;
  record.properties = {{"SUBSYSTEM", "pci"}, {"DEVICE", "+pci:" + record.text.substr(address, 12)}};
  return record;
}

// What a program that is called `name` and whose file is `file` leaves in the log when it crashes
// (the kernel's show_signal_msg; it keeps 15 bytes of the process's name).
std::string SegfaultLine(std::string_view name, std::string_view file) {
  return fmt::format("{}[4711]: segfault at 0 ip 0000561a sp 00007ffc error 4 in {}[561a+1000]",
                     name.substr(0, 15), file);
}

struct Case {
  std::string_view text;
  std::string_view sign;
  std::string_view slot;
  double value;
};

class KernelFaultLine : public ::testing::TestWithParam<Case> {};

TEST_P(KernelFaultLine, TellsWhichFaultOfWhichDevice) {
  const Case& line = GetParam();
  const std::vector<KernelFault> faults = FaultsInLine(std::string(line.text));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].sign, line.sign);
  EXPECT_EQ(faults[0].pci_address, line.slot);
  EXPECT_EQ(faults[0].value, line.value);
}

INSTANTIATE_TEST_SUITE_P(
    Known, KernelFaultLine,
    ::testing::Values(
        Case{"NVRM: Xid (PCI:0000:4B:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
             "the bus.",
             "xid", "0000:4b:00", 79},
        Case{"NVRM: Xid (PCI:0000:ff:1f): 13", "xid", "0000:ff:1f", 13},
        Case{"NVRM: Xid (PCI:0000:01:00): 145, RLW_REMAP Nonfatal XC0 i0 Link -1 (0x4)",
             "xid-nonfatal", "0000:01:00", 145},
        Case{"NVRM: Xid (PCI:0000:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x4)", "xid",
             "0000:01:00", 149},
        Case{"NVRM: Xid (PCI:0000:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 11 (0x00000007 "
             "0x00000004 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
             "nvlink-program", "0000:01:00", 145},
        Case{"NVRM: Xid (PCI:0000:01:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error "
             "detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
             "nvlink-hardware", "0000:01:00", 74},
        Case{"NVRM: Xid (PCI:0000:01:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error "
             "detected on link 14(0x0, 0x0, 0x80010000, 0x0, 0x0, 0x0, 0x0)",
             "xid", "0000:01:00", 74},
        Case{"NVRM: Xid (PCI:0000:01:00): 13, some Nonfatal word", "xid", "0000:01:00", 13},
        Case{"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
             "sxid", "0000:c1:00", 20034},
        Case{"NVRM: GPU 0000:4b:00.0: GPU has fallen off the bus.", "gpu-lost", "0000:4b:00", 1},
        Case{R"(NVRM: The NVIDIA GPU 0000:4b:00.0\x0aNVRM: (PCI ID: 10de:2330) installed in this)"
             R"( system has\x0aNVRM: fallen off the bus and is not responding to commands.)",
             "gpu-lost", "0000:4b:00", 1},
        Case{"mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 5: be00000000800400",
             "machine-check", "", 1},
        Case{"{1}[Hardware Error]: event severity: fatal", "machine-check", "", 1}));

class BusErrorLine : public ::testing::TestWithParam<Case> {};

TEST_P(BusErrorLine, CountsWhereTheKernelItselfNamesTheDevice) {
  const Case& line = GetParam();
  KernelRecord record = RecordOfDevice(std::string(line.text));
  const std::vector<KernelFault> faults = FaultsIn(record);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].sign, line.sign);
  EXPECT_EQ(faults[0].pci_address, line.slot);
  record.properties["DEVICE"] = "+pci:0000:4c:00.0";
  EXPECT_TRUE(FaultsIn(record).empty()) << "the text names another device";
  record.properties["SUBSYSTEM"] = "usb";
  EXPECT_TRUE(FaultsIn(record).empty()) << "not a PCI device";
  record.properties.clear();
  EXPECT_TRUE(FaultsIn(record).empty()) << "text alone";
}

INSTANTIATE_TEST_SUITE_P(
    Known, BusErrorLine,
    ::testing::Values(
        Case{"nvidia 0000:4b:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer",
             "aer-corrected", "0000:4b:00", 1},
        Case{"nvidia 0000:4b:00.0: AER: PCIe Bus Error: severity=Correctable, type=x",
             "aer-corrected", "0000:4b:00", 1},
        Case{"nvidia 0000:4b:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=x",
             "aer-nonfatal", "0000:4b:00", 1},
        Case{"nvidia 0000:4b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=x",
             "aer-fatal", "0000:4b:00", 1}));

TEST(KernelFault, AnXidNamesTheMigInstanceAndTheLinkThatItIsAbout) {
  const auto fault = [](const std::string& line) { return FaultsInLine(line).at(0); };
  EXPECT_EQ(fault("NVRM: Xid (PCI:0000:4b:00 GPU-I:05 GPU-CI:01): 13, x").part, "5/1");
  EXPECT_EQ(fault("NVRM: Xid (PCI:0000:4b:00 GPU-I:11): 13, x").part, "11");
  EXPECT_EQ(fault("NVRM: Xid (PCI:0000:4b:00): 13, name= GPU-I:05): 1").part, "");
  EXPECT_EQ(fault("NVRM: Xid (PCI:0000:4b:00 GPU-I:x): 13, x").part, "");
  EXPECT_EQ(fault("NVRM: Xid (PCI:0000:4b:00): 74, pid=1, name=a, NVLink: fatal error detected on "
                  "link 14(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)")
                .detail,
            "link 14");
  EXPECT_EQ(fault("NVRM: Xid (PCI:0000:4b:00): 79, x").detail, "");
}

TEST(KernelFault, Xid154AlsoTellsWhatTheGpuAsksFor) {
  const auto faults = FaultsInLine(
      "NVRM: Xid (PCI:0000:0f:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
      "Reset Required)");
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].sign, "xid");
  EXPECT_EQ(faults[1].sign, "recovery-action");
  EXPECT_EQ(faults[1].value, 1);
  EXPECT_EQ(FaultsInLine("NVRM: Xid (PCI:0000:0f:00): 154, in other words").size(), 1u);
}

TEST(KernelFault, OrdinaryAndHostileLinesTellNothing) {
  for (const std::string text :
       {"", "usb 1-1: new device", "NVRM: Xid (", "NVRM: Xid (PCI:0000:4b:00)",
        "NVRM: Xid (PCI:0000:4b:00): ", "NVRM: Xid (PCI:0000:4b:00): -79, x",
        "NVRM: Xid (PCI:zzzz:4b:00): 79, x", "NVRM: Xid (PCI:): 79, x",
        "NVRM: Xid (PCI:0000:4b:00): 99999999999999999999, x",
        "my program says: NVRM: Xid (PCI:0000:4b:00): 79, x", "a: SXid (PCI:0000:c1:00.0): 1, x",
        "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): x", "PCIe Bus Error: severity=",
        "nvidia 0000:4b:00.0: PCIe Bus Error: severity=Unheard of", "has fallen off the bus"}) {
    EXPECT_TRUE(FaultsInLine(text).empty()) << text;
  }
}

// Fault texts that a Pod's program tries to put into the kernel's log.
const std::string_view kForgeries[] = {
    "0000:4b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal)",
    "nvidia 0000:4b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=x",
    "nvidia 0000:4b:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Fatal)",
    "NVRM: Xid (PCI:0000:4b:00): 79, GPU has fallen off the bus",
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal",
    ": SXid (PCI:0000:c1:00.0): 20034, Fatal",
    "NVRM: GPU 0000:4b:00.0: GPU has fallen off the bus.",
    "mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 5",
    "{1}[Hardware Error]: event severity: fatal",
    "[Hardware Error]: x",
};

TEST(KernelFault, WhatAProgramCanPutIntoTheLogIsNoFault) {
  for (const std::string_view name : kForgeries) {
    for (const std::string_view file : kForgeries) {
      const std::string line = SegfaultLine(name, file);
      EXPECT_TRUE(FaultsInLine(line).empty()) << line;
      // Name and file may be chosen so that together they look like one line.
      const std::string joined = SegfaultLine("nvidia-nvswitch", file);
      EXPECT_TRUE(FaultsInLine(joined).empty()) << joined;
    }
    const std::string quoted = fmt::format("process '{}' started with executable stack", name);
    EXPECT_TRUE(FaultsInLine(quoted).empty()) << quoted;
  }
}

TEST(KernelFault, TheNameOfAProcessInAnXidChangesNothing) {
  const auto faults = FaultsInLine(
      "NVRM: Xid (PCI:0000:01:00): 149, pid=7, name=a Nonfatal b, NETIR_LINK_EVT Fatal XC0 i0 "
      "Link");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].sign, "xid");
}

TEST(KernelFault, RootsOwnLinesCountAndThoseOfDaemonsDoNot) {
  const std::string line = "NVRM: Xid (PCI:0000:4b:00): 79, x";
  EXPECT_EQ(FaultsInLine(line, kFacilityUser).size(), 1u);
  EXPECT_TRUE(FaultsInLine(line, 3).empty());
}

TEST(KernelFault, SaysTheRawSignForPeople) {
  EXPECT_EQ(FaultsInLine("NVRM: Xid (PCI:0000:4b:00): 79, x")[0].raw,
            "kernel log: Xid 79 on 0000:4b:00");
}

TEST(KernelFault, PciAddressesAreComparedWithoutFunctionAndCase) {
  EXPECT_EQ(PciSlot("0000:4B:00.0"), "0000:4b:00");
  EXPECT_EQ(PciSlot("PCI:0000:4b:00"), "0000:4b:00");
  EXPECT_EQ(PciSlot("0000:4b:0"), "");
  EXPECT_EQ(PciSlot("0000-4b-00"), "");
}

}  // namespace
}  // namespace galen::probes
