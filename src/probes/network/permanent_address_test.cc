#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "probes/network/network_interface.h"

namespace galen::probes {
namespace {

using namespace std::string_literals;

TEST(PermanentAddress, IsWrittenAsSysfsWritesAddresses) {
  EXPECT_EQ(AddressText("\x02\xfc\x00\x00\x00\x0a"s), "02:fc:00:00:00:0a");
  EXPECT_EQ(AddressText("\0\0\0\0\0\0"s), "") << "a virtual interface has none";
  EXPECT_EQ(AddressText(""), "");
  EXPECT_EQ(AddressText("\x80\x00\x02\x08\xfe\x80"s + std::string(14, '\1')), "")
      << "InfiniBand's begins with what changes at each start";
}

TEST(PermanentAddress, OfAnInterfaceThatHasNoneIsEmpty) {
  const auto addresses = PermanentAddresses::Open("");
  ASSERT_TRUE(addresses.ok()) << ToString(addresses.status());
  EXPECT_EQ((*addresses)->Of("lo", ""), "");
  EXPECT_EQ((*addresses)->Of("galen-none", "02:00:00:00:00:01"), "");
  EXPECT_EQ((*addresses)->Of("a-name-that-is-too-long", "02:00:00:00:00:01"), "");
}

// What a machine has is not known here: of each card with hardware both answers are right, but not
// that of another interface.
TEST(PermanentAddress, IsThatOfAnInterfaceWithTheAddressThatSysfsShows) {
  const auto addresses = PermanentAddresses::Open("");
  ASSERT_TRUE(addresses.ok());
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net")) {
    const std::string name = entry.path().filename();
    std::string now;
    std::getline(std::ifstream(entry.path() / "address"), now);
    const std::string permanent = (*addresses)->Of(name, now);
    EXPECT_TRUE(permanent.empty() || permanent.size() == now.size()) << name << " " << permanent;
    EXPECT_EQ((*addresses)->Of(name, "06:00:00:00:00:99"), "") << name << ": another interface";
  }
}

TEST(PermanentAddress, NeedsTheNetworkNamespaceThatIsNamed) {
  EXPECT_EQ(PermanentAddresses::Open("/nonexistent").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace galen::probes
