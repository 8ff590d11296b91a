#include "agent/holdings/pod_resources_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/holdings/fake_pod_resources.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class PodResourcesReaderTest : public ::testing::Test {
 protected:
  PodResourcesReaderTest() {
    metric::Declare(metrics_);
    kubelet_.Say({{"a", "nvidia.com/gpu", {"GPU-1"}}});
    kubelet_.Start();
  }

  FakeLoop loop_;
  Random random_{7};
  net::LinkWeather weather_;
  net::FakeNetwork network_{loop_, random_};
  std::unique_ptr<net::Dialer> dialer_ = network_.MakeDialer(weather_);
  Metrics metrics_;
  Log log_{LogLevel::kInfo, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  std::vector<std::string> lines_;
  FakePodResources kubelet_{loop_, network_, "/kubelet.sock"};
  int asked_ = 0;
  int answers_ = 0;
  bool waits_ = false;
  bool needs_ = true;
  PodResourcesReader reader_{{loop_, log_, metrics_, *dialer_},
                             {.socket = "/kubelet.sock", .node = "node-1"},
                             {.on_ask = [this] { ++asked_; },
                              .on_answer = [this](const PodResourcesAnswer&) { ++answers_; },
                              .waits = [this] { return waits_; },
                              .needs = [this] { return needs_; }}};
};

TEST_F(PodResourcesReaderTest, AsksOnlyWhenThereIsAReason) {
  loop_.Advance(1h);
  EXPECT_EQ(kubelet_.times_asked(), 0);
  reader_.Look();
  loop_.Advance(1s);
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(reader_.first_answer());
}

TEST_F(PodResourcesReaderTest, ManyChangesAreOneQuestionAndManyPodsNotMoreThanOneInTwoSeconds) {
  for (int i = 0; i < 100; ++i) {
    reader_.Look();
    loop_.Advance(100ms);
  }
  loop_.Advance(5s);
  EXPECT_GE(kubelet_.times_asked(), 5);
  EXPECT_LE(kubelet_.times_asked(), 7);
}

TEST_F(PodResourcesReaderTest, WhatChangesWhileTheKubeletIsAskedIsAskedAgain) {
  kubelet_.Hang(true);
  reader_.Look();
  loop_.Advance(1s);
  reader_.Look();
  kubelet_.Hang(false);
  kubelet_.AnswerHanging();
  loop_.Advance(3s);
  EXPECT_EQ(answers_, 2);
}

TEST_F(PodResourcesReaderTest, WhereNothingChangesItAsksEveryFiveMinutes) {
  reader_.Look();
  loop_.Advance(1h);
  EXPECT_GE(kubelet_.times_asked(), 12);
  EXPECT_LE(kubelet_.times_asked(), 13);
}

TEST_F(PodResourcesReaderTest, WhatTheKubeletDoesNotKnowYetIsAskedForMoreAndMoreRarely) {
  waits_ = true;
  reader_.Look();
  loop_.Advance(30s);
  EXPECT_GE(kubelet_.times_asked(), 4);
  loop_.Advance(10min);
  EXPECT_LE(kubelet_.times_asked(), 11);
}

TEST_F(PodResourcesReaderTest, AKubeletThatHangsIsATroubleAfterItsDeadline) {
  kubelet_.Hang(true);
  reader_.Look();
  loop_.Advance(4s);
  EXPECT_EQ(reader_.trouble(), "");
  loop_.Advance(2s);
  EXPECT_THAT(reader_.trouble(), HasSubstr("List"));
  needs_ = false;
  EXPECT_EQ(reader_.trouble(), "") << "nobody needs the answer";
  kubelet_.Hang(false);
  loop_.Advance(10s);
  EXPECT_EQ(answers_, 1);
  needs_ = true;
  EXPECT_EQ(reader_.trouble(), "");
}

TEST_F(PodResourcesReaderTest, ALookDoesNotHastenAKubeletThatIsAbsent) {
  kubelet_.Stop();
  for (int i = 0; i < 600; ++i) {
    reader_.Look();
    loop_.Advance(1s);
  }
  // 3 s, doubling up to five minutes.
  EXPECT_GE(asked_, 6);
  EXPECT_LE(asked_, 10);
  int logged = 0;
  for (const std::string& line : lines_) {
    logged += line.find("does not say which devices") != std::string::npos;
  }
  EXPECT_EQ(logged, 1);
}

TEST_F(PodResourcesReaderTest, NonsenseIsATroubleAndNoAnswer) {
  kubelet_.SayBytes("\xff\xff");
  reader_.Look();
  loop_.Advance(1s);
  EXPECT_EQ(answers_, 0);
  EXPECT_NE(reader_.trouble(), "");
}

TEST_F(PodResourcesReaderTest, WhatCannotBeUsedIsLoggedOnceForEachPlace) {
  kubelet_.Say({{"a", "nvidia.com/gpu", {"GPU 1"}}});
  reader_.Look();
  loop_.Advance(20min);
  std::string logged;
  const auto take_lines = [&] {
    for (const std::string& line : lines_) logged += line;
    lines_.clear();
    return std::exchange(logged, "");
  };
  const std::string place = "Pod default/a, container main, resource nvidia.com/gpu";
  const std::string first = take_lines();
  EXPECT_THAT(first, HasSubstr(place));
  EXPECT_EQ(first.find(place), first.rfind(place)) << first;
  // The fault that is logged already does not hide the next one's.
  kubelet_.Say({{"a", "nvidia.com/gpu", {"GPU 1"}}, {"b", "nvidia.com/gpu", {"GPU 1"}}});
  loop_.Advance(6min);
  const std::string second = take_lines();
  EXPECT_THAT(second, HasSubstr("Pod default/b, container main, resource nvidia.com/gpu"));
  EXPECT_THAT(second, testing::Not(HasSubstr(place)));
}

}  // namespace
}  // namespace galen::agent
