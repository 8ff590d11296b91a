#include "agent/post_mortem/container_crash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

kube::Pod PodThatEnded(std::optional<int> exit_code, WallTime finished) {
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-0"};
  pod.meta.uid = "uid-1";
  kube::ContainerStatus status;
  status.name = "train";
  status.exit_code = exit_code;
  status.reason = "CrashLoopBackOff";
  status.end_reason = "Error";
  status.finished = finished;
  pod.statuses.push_back(status);
  return pod;
}

TEST(NewCrashes, TellsAContainerThatEndedBadlyOnce) {
  const kube::Pod running = [] {
    kube::Pod pod = PodThatEnded(std::nullopt, {});
    pod.statuses[0].finished.reset();
    return pod;
  }();
  const kube::Pod crashed = PodThatEnded(134, WallTime(5s));
  const std::vector<Crash> crashes = NewCrashes(&running, crashed);
  ASSERT_THAT(crashes, SizeIs(1));
  EXPECT_EQ(crashes[0].text, "container train, exit 134 (SIGABRT)");
  EXPECT_EQ(crashes[0].time, WallTime(5s));
  EXPECT_EQ(crashes[0].pod, crashed.ref());
  EXPECT_THAT(NewCrashes(&crashed, crashed), IsEmpty());
  EXPECT_THAT(NewCrashes(&crashed, PodThatEnded(134, WallTime(9s))), SizeIs(1)) << "once more";
}

TEST(NewCrashes, AGoodEndAndThePastOfAPodThatIsNewAreNone) {
  const kube::Pod before = PodThatEnded(1, WallTime(5s));
  EXPECT_THAT(NewCrashes(&before, PodThatEnded(0, WallTime(9s))), IsEmpty());
  EXPECT_THAT(NewCrashes(nullptr, before), IsEmpty());
}

}  // namespace
}  // namespace galen::agent
