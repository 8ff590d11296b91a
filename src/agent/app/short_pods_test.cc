// A hundred short Pods whose device fails around their end: none is without a record of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "agent/app/fake_endings.h"
#include "base/test_rounds.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using history::PostMortem;

// Short Pods whose device fails within the window, in every order of fault, end, devices given back
// and the agent's own death that chance gives.
class ShortPodsNode {
 public:
  explicit ShortPodsNode(std::uint64_t seed) : random_(seed), driver_(node_.AddDriver({"gpu-0"})) {
    driver_.Report({Well("gpu-0")});
    node_.StartAgent();
    node_.Pass(2s);
  }

  // The faults are distinguished by their sentences.
  static std::string Fault(int i) { return fmt::format("XID 79: lost for pod-{}", i); }

  void Play(int i) {
    const std::string pod = "pod-" + std::to_string(i);
    node_.AddPod(pod);
    node_.Pass(1s + Chance(10s));
    ASSERT_FALSE(node_.DeviceOf(pod).empty());
    std::vector<char> steps = {'f', 'e', 'u'};
    if (random_.Chance(0.6)) steps.insert(steps.end(), {'k'});
    if (random_.Chance(0.3)) steps.insert(steps.end(), {'k'});
    for (std::size_t k = steps.size(); k > 1; --k) std::swap(steps[k - 1], steps[random_.Below(k)]);
    std::string story;
    for (const char step : steps) {
      story += step;
      Step(step, i, pod);
      node_.Pass(random_.Chance(0.3) ? Chance(20ms) : Chance(50s));
    }
    stories_.push_back(story);
    if (!node_.app) node_.StartAgent();
    // The last fault may be gathered still; then all is over, and the next Pod's window is its own.
    node_.Pass(10s);
    if (!node_.cluster.Pod(pod).is_null()) node_.cluster.Delete(kube::kPods, pod, "default", 0);
    driver_.Report({Well("gpu-0")});
    node_.Pass(12min);
  }

  AgentNode& node() { return node_; }
  const std::string& story(int i) const { return stories_.at(static_cast<std::size_t>(i)); }

 private:
  Duration Chance(Duration most) {
    return Duration(random_.Below(static_cast<std::uint64_t>(most.count())));
  }

  void Step(char step, int i, const std::string& pod) {
    if (step == 'f') driver_.Report({Lost("gpu-0", Fault(i))});
    if (step == 'e') End(pod);
    if (step == 'u') GiveBack(node_);
    if (step == 'k' && node_.app) {
      node_.KillAgent();
      // It may be away for the next steps, too.
      if (random_.Chance(0.5)) node_.StartAgent();
    } else if (step == 'k') {
      node_.StartAgent();
    }
  }

  void End(const std::string& pod) {
    switch (random_.Below(5)) {
      case 0:
        return CrashContainer(node_, pod, 134, true);
      case 1:
        return CrashContainer(node_, pod, 139, false);
      case 2:
        return Evict(node_, pod);
      case 3:
        return node_.cluster.Delete(kube::kPods, pod, "default", 30);
      default:
        return node_.cluster.Delete(kube::kPods, pod, "default", 0);
    }
  }

  Random random_;
  AgentNode node_{Role::kObserver};
  FakePlugin& driver_;
  std::vector<std::string> stories_;
};

bool HasFaultOf(const PostMortem& record, const std::string& sentence) {
  for (const auto& device : record.devices) {
    for (const auto& finding : device.findings) {
      if (finding.health.cause.message == sentence) return true;
    }
  }
  return false;
}

TEST(ShortPods, AllOfAHundredShortPodsWhoseDeviceFailsHaveTheFaultInTheirRecord) {
  const std::uint64_t seed = 20261122;
  RecordProperty("seed", static_cast<int>(seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  ShortPodsNode pods(seed);
  constexpr int kPods = static_cast<int>(Rounds(100, 10));
  for (int i = 0; i < kPods; ++i) {
    pods.Play(i);
    if (::testing::Test::HasFatalFailure()) return;
  }
  const std::vector<PostMortem> records = RecordsOnDisk(pods.node());
  int with_fault = 0;
  for (int i = 0; i < kPods; ++i) {
    const std::string pod = "pod-" + std::to_string(i);
    const bool found = std::ranges::any_of(records, [&](const PostMortem& record) {
      return record.pod.key.name == pod && HasFaultOf(record, ShortPodsNode::Fault(i));
    });
    EXPECT_TRUE(found) << pod << ", seed " << seed << ", story " << pods.story(i)
                       << " (f fault, e end, u devices given back, k agent killed or started)";
    with_fault += found ? 1 : 0;
  }
  std::printf("%d of %d Pods have a record with the fault in it\n", with_fault, kPods);
}

}  // namespace
}  // namespace galen::agent
