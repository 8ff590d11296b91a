#include "probes/nvml/mig_spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MigSpreadTest : public ::testing::Test {
 protected:
  class Sink final : public SignSink {
   public:
    void OnSigns(std::vector<Sign> signs) override {
      ++calls;
      for (const Sign& sign : signs) devices.push_back(sign.device);
    }
    std::vector<std::string> devices;
    int calls = 0;
  };

  MigSpreadTest() {
    // Two compute instances in the first GPU instance, one in the second.
    spread_.SetCuts(
        {{"gpu-0", {.instances = {{"mig-1-0", 1, 0}, {"mig-1-1", 1, 1}, {"mig-2-0", 2, 0}}}}});
  }
  std::vector<std::string> Of(const std::string& device, const std::string& part) {
    sink_.devices.clear();
    spread_.OnSigns({{.device = device, .name = "xid", .part = part}});
    return sink_.devices;
  }

  Sink sink_;
  MigSpread spread_{sink_};
};

TEST_F(MigSpreadTest, WhatIsOfTheGpuIsOfEachOfItsInstances) {
  EXPECT_THAT(Of("gpu-0", ""), ElementsAre("mig-1-0", "mig-1-1", "mig-2-0"));
}

TEST_F(MigSpreadTest, WhatNamesAnInstanceIsOfThatOneAlone) {
  EXPECT_THAT(Of("gpu-0", "1/1"), ElementsAre("mig-1-1"));
  EXPECT_THAT(Of("gpu-0", "2"), ElementsAre("mig-2-0"));
  EXPECT_THAT(Of("gpu-0", "1"), ElementsAre("mig-1-0", "mig-1-1"));
}

TEST_F(MigSpreadTest, WhatNamesAnInstanceThatIsNoDeviceIsOfAll) {
  EXPECT_THAT(Of("gpu-0", "3/0"), ElementsAre("mig-1-0", "mig-1-1", "mig-2-0"));
  EXPECT_THAT(Of("gpu-0", "3"), ElementsAre("mig-1-0", "mig-1-1", "mig-2-0"));
  EXPECT_THAT(Of("gpu-0", "1/7"), ElementsAre("mig-1-0", "mig-1-1", "mig-2-0"));
}

TEST_F(MigSpreadTest, OfAGpuWithoutInstancesThereIsNoDeviceToShowIt) {
  spread_.SetCuts({{"gpu-0", {}}});
  EXPECT_THAT(Of("gpu-0", "3/0"), IsEmpty());
  EXPECT_EQ(sink_.calls, 0);
}

TEST_F(MigSpreadTest, AGpuThatIsADeviceAsWellHasAllOfIt) {
  spread_.SetCuts({{"gpu-0", {.instances = {{"mig-1-0", 1, 0}}, .whole = true}}});
  EXPECT_THAT(Of("gpu-0", ""), ElementsAre("mig-1-0", "gpu-0"));
  EXPECT_THAT(Of("gpu-0", "7/0"), ElementsAre("mig-1-0", "gpu-0"));
}

TEST_F(MigSpreadTest, OtherGpusAndWhatIsOfAllStayAsTheyAre) {
  EXPECT_THAT(Of("gpu-1", "1/0"), ElementsAre("gpu-1"));
  EXPECT_THAT(Of(std::string(kEveryDevice), ""), ElementsAre("*"));
}

}  // namespace
}  // namespace galen::probes
