#include "probes/kernel_log/kernel_record.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

TEST(KernelRecord, ReadsARecordAsTheKernelWritesIt) {
  const StatusOr<KernelRecord> record =
      ParseKernelRecord("12,339,5140900,-;NVRM: Xid (PCI:0000:4b:00): 79, GPU has fallen\n");
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(record->level, 4);
  EXPECT_EQ(record->facility, kFacilityUser);
  EXPECT_EQ(record->sequence, 339u);
  EXPECT_EQ(record->since_boot, 5140900us);
  EXPECT_EQ(record->text, "NVRM: Xid (PCI:0000:4b:00): 79, GPU has fallen");
}

TEST(KernelRecord, ReadsPropertiesAndLaterKernelsFields) {
  const StatusOr<KernelRecord> record = ParseKernelRecord(
      "6,1,2,-,caller=T1;pci; a semicolon\n SUBSYSTEM=pci\n DEVICE=+pci:0000:4b:00.0\nno "
      "property\n");
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->text, "pci; a semicolon");
  EXPECT_EQ(record->properties.size(), 2u);
  EXPECT_EQ(record->properties.at("DEVICE"), "+pci:0000:4b:00.0");
}

TEST(KernelRecord, RefusesWhatNoKernelWrites) {
  for (const std::string_view bytes :
       {"", "text", "6", "6,", "6,1", "6,1,2", "6,1,2,-", ";", "-6,1,2,-;t", "6,x,2,-;t",
        "6,1,99999999999999999999,-;t", "6,1,9999999999999999,-;t", "6,99999999999999999999,2,-;t",
        "99999999999,1,2,-;t"}) {
    EXPECT_FALSE(ParseKernelRecord(bytes).ok()) << bytes;
  }
  EXPECT_EQ(
      ParseKernelRecord("6,1,2,-;" + std::string(kKernelRecordBytesMax, 'x')).status().message(),
      "kernel record of 8200 bytes is longer than 8192");
}

TEST(KernelRecord, TextIsSafeToShowWhateverWasWritten) {
  const StatusOr<KernelRecord> record =
      ParseKernelRecord(std::string_view("6,1,2,-;a\x1b[31m\xff\0b\n", 18));
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->text.find('\x1b'), std::string::npos);
  EXPECT_EQ(record->text.find('\0'), std::string::npos);
}

TEST(KernelRecord, NoBytesWhateverBreakIt) {
  Random chance(4711);
  const std::string good = "6,1,2,-;NVRM: Xid (PCI:0000:4b:00): 79, x\n A=b\n";
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int n = 0; n < 3; ++n)
      bytes[chance.Next() % bytes.size()] = static_cast<char>(chance.Next());
    bytes.resize(chance.Next() % (bytes.size() + 1));
    const StatusOr<KernelRecord> record = ParseKernelRecord(bytes);
    ASSERT_TRUE(!record.ok() || (record->level >= 0 && record->level < 8));
  }
}

}  // namespace
}  // namespace galen::probes
