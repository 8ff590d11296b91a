#include "model/check_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/health.h"

namespace galen {
namespace {

using ::testing::HasSubstr;

CheckResult Failed() {
  return {.device = "gpu-0",
          .pci_address = "0000:4b:00.0",
          .uuid = "GPU-7d4b",
          .model = "NVIDIA H100",
          .subject = CheckSubject::kLinks,
          .verdict = CheckVerdict::kFailed,
          .code = "MemoryMismatch",
          .message = "bit 17 is wrong",
          .began = WallTime(std::chrono::seconds(1764072000)),
          .ended = WallTime(std::chrono::milliseconds(1764072060250)),
          .boot_id = "3a22ea13-49c5-4f63-acce-bbebcf56f1ec",
          .seed = 0xfedcba9876543210,
          .rounds = 7,
          .bytes = 1u << 30};
}

TEST(CheckResult, ReadsTheSameAsItWasWritten) {
  const auto read = ParseCheckResult(ToJson(Failed()).DumpPretty());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, Failed());
}

TEST(CheckResult, SaysWhatIsWrongWithATextThatIsNone) {
  const auto fault = [](std::string_view key, const char* value) {
    Json json = ToJson(Failed());
    json[key] = value;
    return ParseCheckResult(json.Dump()).status().message();
  };
  EXPECT_THAT(fault("format", "v2"), HasSubstr("format"));
  EXPECT_THAT(fault("device", "../gpu"), HasSubstr("device"));
  EXPECT_THAT(fault("verdict", "Bad"), HasSubstr("verdict"));
  EXPECT_THAT(fault("subject", ""), HasSubstr("subject"));
  EXPECT_THAT(fault("ended", "yesterday"), HasSubstr("ended"));
  EXPECT_THAT(fault("seed", "0xzz"), HasSubstr("seed"));
  EXPECT_FALSE(ParseCheckResult("{").ok());
  std::string full = ToJson(Failed()).Dump();
  full.resize(kCheckResultBytesMax, ' ');
  EXPECT_TRUE(ParseCheckResult(full).ok());
  EXPECT_FALSE(ParseCheckResult(std::string(kCheckResultBytesMax + 1, ' ')).ok());
}

TEST(CheckResult, BoundsWhatAStrangerWrote) {
  CheckResult long_one = Failed();
  long_one.message = std::string(5000, 'x');
  long_one.code = std::string(300, 'c') + "\n";
  const auto read = ParseCheckResult(ToJson(long_one).Dump());
  ASSERT_TRUE(read.ok());
  EXPECT_LE(read->message.size(), kCauseMessageBytesMax);
  EXPECT_LE(read->code.size(), 64u);
}

TEST(CheckResult, HasAFileForEachDeviceAndSubject) {
  EXPECT_EQ(CheckResultFile("gpu-0", CheckSubject::kDevice), "gpu-0.json");
  EXPECT_EQ(CheckResultFile("gpu-0", CheckSubject::kLinks), "gpu-0.links.json");
}

}  // namespace
}  // namespace galen
