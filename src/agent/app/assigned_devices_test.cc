#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/change_router.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

HeldDevice Held(const std::string& device) {
  HeldDevice held;
  held.device = {"gpu.example.com", "node-1", device};
  return held;
}

TEST(AssignedDevices, EachDeviceIsNewToItsPodOnce) {
  AssignedDevices assigned;
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-0"};
  EXPECT_THAT(assigned.TakeNew(pod, {}), IsEmpty());
  EXPECT_THAT(assigned.TakeNew(pod, {Held("gpu-0")}), ElementsAre(Held("gpu-0").device));
  EXPECT_THAT(assigned.TakeNew(pod, {Held("gpu-0"), Held("gpu-1")}),
              ElementsAre(Held("gpu-1").device));
  EXPECT_THAT(assigned.TakeNew(pod, {Held("gpu-0"), Held("gpu-1")}), IsEmpty());
  assigned.Forget(pod.meta.key);
  EXPECT_THAT(assigned.TakeNew(pod, {Held("gpu-0")}), ElementsAre(Held("gpu-0").device))
      << "another Pod of its name";
}

TEST(AssignedDevices, APodThatHasEndedGetsNothing) {
  AssignedDevices assigned;
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-0"};
  pod.phase = "Succeeded";
  EXPECT_THAT(assigned.TakeNew(pod, {Held("gpu-0")}), IsEmpty());
}

}  // namespace
}  // namespace galen::agent
