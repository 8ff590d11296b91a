#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "probes/kernel_log/kernel_log.h"

namespace galen::probes {
namespace {

// XID 74 on link 6 with these registers.
NvlinkFault Decode74(std::string_view registers) {
  return DecodeNvlinkXid(74, fmt::format("74, pid='<unknown>', name=<unknown>, NVLink: fatal error "
                                         "detected on link 6({})",
                                         registers));
}

NvlinkFault Decode5(std::int64_t xid, std::string_view text) {
  return DecodeNvlinkXid(xid, fmt::format("{}, {}", xid, text));
}

struct Decoded {
  std::int64_t xid;
  std::string_view line;
  NvlinkFault is;
};
void ExpectDecoded(const std::vector<Decoded>& all) {
  for (const Decoded& each : all) EXPECT_EQ(Decode5(each.xid, each.line), each.is) << each.line;
}

TEST(NvlinkFault, TheLinkIsThatOfTheLinesEndAndNotOfAProcessesName) {
  const std::string_view registers = "(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)";
  const auto link74 = [&](std::string_view name, std::string_view link) {
    return LinkOfNvlinkXid(74, fmt::format("74, pid=1, name={}, NVLink: fatal error detected on "
                                           "link {}{}",
                                           name, link, registers));
  };
  EXPECT_EQ(link74("python3", "14"), 14);
  EXPECT_EQ(link74("a, NVLink: fatal error detected on link 3", "6"), 6);
  EXPECT_EQ(link74("python3", "-1"), std::nullopt);
  EXPECT_EQ(link74("python3", "123"), std::nullopt);
  EXPECT_EQ(LinkOfNvlinkXid(145, "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 08 (0x7 0x4)"), 8);
  EXPECT_EQ(LinkOfNvlinkXid(145, "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link -1 (0x7 0x4)"),
            std::nullopt);
  EXPECT_EQ(LinkOfNvlinkXid(79, "79, GPU has fallen off the bus."), std::nullopt);
}

TEST(NvlinkFault, TheRegistersOfXid74SayWhatIsBroken) {
  EXPECT_EQ(Decode74("0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0"), NvlinkFault::kHardware) << "parity";
  EXPECT_EQ(Decode74("0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0"), NvlinkFault::kHardware);
  EXPECT_EQ(Decode74("0x0, 0x0, 0x0, 0x0, 0x40000, 0x0, 0x0"), NvlinkFault::kHardware);
  EXPECT_EQ(Decode74("0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0"), NvlinkFault::kLink) << "contacts";
  EXPECT_EQ(Decode74("0x200000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0"), NvlinkFault::kLink) << "signal";
  EXPECT_EQ(Decode74("0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0"), NvlinkFault::kIgnored);
  EXPECT_EQ(Decode74("0x0, 0x0, 0x0, 0x0, 0x100000, 0x0, 0x0"), NvlinkFault::kIgnored);
}

TEST(NvlinkFault, OfSeveralBitsTheWorstCountsAndWhatFollowsFromItDoesNot) {
  EXPECT_EQ(Decode74("0x10011, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0"), NvlinkFault::kHardware);
  EXPECT_EQ(Decode74("0x10003, 0x0, 0x0, 0x10000, 0x0, 0x0, 0x0"), NvlinkFault::kLink);
  // What it follows from is not there.
  EXPECT_EQ(Decode74("0x2, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0"), NvlinkFault::kUnclear);
  EXPECT_EQ(Decode74("0x1, 0x0, 0x0, 0x40000, 0x0, 0x0, 0x0"), NvlinkFault::kUnclear);
  // The second, sixth and seventh say nothing.
  EXPECT_EQ(Decode74("0x1, 0x10, 0x0, 0x0, 0x0, 0xffffffff, 0x10"), NvlinkFault::kIgnored);
}

TEST(NvlinkFault, RegistersThatAreNotWhatTheCatalogKnowsAreUnclear) {
  for (const std::string_view registers :
       {"0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", "0x80000001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0",
        "0x1, 0x0, 0x0, 0x0, 0x0, 0x0", "0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0",
        "0x1,0x0,0x0,0x0,0x0,0x0,0x0", "1, 0, 0, 0, 0, 0, 0", "0x, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0",
        "0x100000001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", "", "0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0) (",
        "-0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0"}) {
    EXPECT_EQ(Decode74(registers), NvlinkFault::kUnclear) << registers;
  }
  EXPECT_EQ(DecodeNvlinkXid(74, "74"), NvlinkFault::kUnclear);
  EXPECT_EQ(DecodeNvlinkXid(74, "74, NVLink: fatal error detected on link 6"),
            NvlinkFault::kUnclear);
  EXPECT_EQ(DecodeNvlinkXid(73,
                            "73, NVLink: fatal error detected on link 6(0x1, 0x0, 0x0, 0x0, "
                            "0x0, 0x0, 0x0)"),
            NvlinkFault::kUnclear);
}

TEST(NvlinkFault, TheNameOfAProcessMakesNoFaultOneToIgnore) {
  const std::string_view forged =
      ", NVLink: fatal error detected on link 6(0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)";
  EXPECT_EQ(DecodeNvlinkXid(74, fmt::format("74, pid=7, name=a{}, NVLink: fatal error detected on "
                                            "link 6(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
                                            forged)),
            NvlinkFault::kHardware);
  EXPECT_EQ(DecodeNvlinkXid(74, fmt::format("74, pid=7, name=a{}, something else", forged)),
            NvlinkFault::kUnclear);
  EXPECT_EQ(Decode5(145,
                    "pid=7, name=x, RLW_REMAP Nonfatal XC0 i0 Link 00 (0x4 0x100), RLW_REMAP "
                    "Fatal XC0 i0 Link 00 (0x00000004 0x00000040)"),
            NvlinkFault::kHardware);
}

// Before and since R575 the number of a unit is elsewhere; none of the two forms is the other's.
TEST(NvlinkFault, UnitsAreKnownInBothGenerationsOfDrivers) {
  for (const std::string_view word : {"0x00000004", "0x00000082", "0x000ffc04", "0x00010082"}) {
    const std::string head = fmt::format("RLW_REMAP {{}} XC0 i0 Link 00 ({} {{}} 0x0 0x0)", word);
    EXPECT_EQ(Decode5(145, fmt::format(fmt::runtime(head), "Fatal", "0x00000080")),
              NvlinkFault::kHardware)
        << word;
    EXPECT_EQ(Decode5(145, fmt::format(fmt::runtime(head), "Nonfatal", "0x00000010")),
              NvlinkFault::kProgram)
        << word;
    EXPECT_EQ(Decode5(145, fmt::format(fmt::runtime(head), "Nonfatal", "0x00000200")),
              NvlinkFault::kIgnored)
        << word;
  }
}

TEST(NvlinkFault, TheSameBitsMeanOtherThingsOfOtherUnits) {
  ExpectDecoded({
      {145, "RLW_REMAP Nonfatal XC0 i0 Link 00 (0x00000004 0x00000001 0x0)", NvlinkFault::kProgram},
      {145, "RLW_SRC_TRACK Fatal XC0 i0 Link 00 (0x00000007 0x00000001 0x0)",
       NvlinkFault::kHardware},
      {145, "RLW_RSPCOL Nonfatal XC0 i0 Link -1 (0x00000005 0x80000001)", NvlinkFault::kIgnored},
      {144, "SAW_MVB Fatal XC0 i0 Link -1 (0x00000021 0x00000012)", NvlinkFault::kHardware},
      {146, "TLW_RX Fatal XC1 i0 Link 03 (0x0000000b 0x00000004)", NvlinkFault::kHardware},
      {147, "TREX Nonfatal XC1 i0 Link 03 (0x0000000e 0x80000000)", NvlinkFault::kIgnored},
      {148, "NVLPW Nonfatal XC1 i0 Link 03 (0x0000000f 0x80000000)", NvlinkFault::kIgnored},
      {150, "MSE_WATCHDOG Fatal XC0 i0 Link -1 (0x00000000 0x00000000)", NvlinkFault::kHardware},
  });
}

TEST(NvlinkFault, AReceiverSaysWhetherAnErrorIsSevereThisTime) {
  ExpectDecoded({
      {145, "RLW_RXPIPE Nonfatal XC0 i0 Link 02 (0x00000006 0x00000002)", NvlinkFault::kIgnored},
      {145, "RLW_RXPIPE Fatal XC0 i0 Link 02 (0x00000086 0x00000002)", NvlinkFault::kHardware},
      {145, "RLW_RXPIPE Fatal XC0 i0 Link 02 (0x000004c2 0x00000002)", NvlinkFault::kHardware},
      {145, "RLW_RXPIPE Fatal XC0 i0 Link 02 (0x00000006 0x00000002)",
       NvlinkFault::kUnclear},  // text and register disagree
  });
}

TEST(NvlinkFault, LinksThatGoDownSayWhy) {
  ExpectDecoded({
      {149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004001c6 0x00000000)", NvlinkFault::kLink},
      {149, "NETIR_LINK_DOWN Fatal XC0 i0 Link 08 (0x02a00011 0x00000000)", NvlinkFault::kLink},
      {149, "NETIR_LINK_DOWN Fatal XC0 i0 Link 08 (0x02600011 0x00000000)",
       NvlinkFault::kUnclear},  // an order of somebody, in a line that says Fatal
      {149, "NETIR_LINK_DOWN Fatal XC0 i0 Link 08 (0x03f00011 0x00000000)",
       NvlinkFault::kUnclear},  // a reason that is not in the catalog
      {149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 08 (0x00000013 0x00000003)",
       NvlinkFault::kIgnored},
      {149, "NETIR_MFDE_EVENT Fatal XC0 i0 Link 08 (0x00000246 0x00000005)",
       NvlinkFault::kHardware},
      {149, "NETIR_MFDE_EVENT Fatal XC0 i0 Link 08 (0x00000246 0x00000002)", NvlinkFault::kUnclear},
  });
}

TEST(NvlinkFault, LinesThatAreNotWhatTheCatalogKnowsAreUnclear) {
  for (const std::string_view text :
       {"", "RLW_REMAP Fatal XC0 i0 Link 00 (0x4)", "RLW_REMAP Fatal XC0 i0 Link 00 0x4 0x40",
        "RLW_REMAP Fatal XC0 i0 Link 00 (0x4 0x40", "RLW_REMAP Fatal XC0 i0 Link 00 (0x4 64)",
        "RLW_REMAP Deadly XC0 i0 Link 00 (0x4 0x40)", "RLW_REMAP Fatal X0 i0 Link 00 (0x4 0x40)",
        "RLW_REMAP Fatal XC0 i0 Port 00 (0x4 0x40)", "RLW_REMAP Fatal XC0 i0 Link a (0x4 0x40)",
        "RLW_REMAP Nonfatal XC0 i0 Link 00 (0x4 0x40)",    // severe, and not
        "RLW_REMAP Fatal XC0 i0 Link 00 (0x4 0x100)",      // likewise
        "RLW_REMAP Fatal XC0 i0 Link 00 (0x4 0x440)",      // a bit that nobody knows
        "RLW_REMAP Fatal XC0 i0 Link 00 (0x4 0x0)",        // none
        "RLW_REMAP Fatal XC0 i0 Link 00 (0x5 0x40)",       // another unit's number
        "RLW_REMAP Fatal XC0 i0 Link 00 (0x100004 0x40)",  // a reason where there is none
        "RLW_OTHER Fatal XC0 i0 Link 00 (0x4 0x40)", "TLW_CTRL Fatal XC0 i0 Link 00 (0x9 0x4)"}) {
    EXPECT_EQ(Decode5(145, text), NvlinkFault::kUnclear) << text;
  }
}

}  // namespace
}  // namespace galen::probes
