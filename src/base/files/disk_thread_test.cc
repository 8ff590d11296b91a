#include "base/files/disk_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "base/files/fake_disk_queue.h"
#include "base/loop/epoll_loop.h"

namespace galen {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DiskThread, WorkThatHangsLeavesTheLoopFreeAndComesToAnEndInOrder) {
  const auto loop = EpollLoop::Create().value();
  const auto started = DiskThread::Start(*loop, "disk").value();
  DiskThread& disk = *started;
  std::binary_semaphore disk_answers{0};
  std::vector<std::string> order;
  disk.Run([&] { disk_answers.acquire(); }, [&] { order.emplace_back("first"); });
  disk.Run([] {},
           [&] {
             order.emplace_back("second");
             loop->Stop();
           });
  loop->Post([&] {
    order.emplace_back("loop");
    EXPECT_FALSE(disk.idle());
    disk_answers.release();
  });
  loop->Run();
  EXPECT_THAT(order, ElementsAre("loop", "first", "second"));
  EXPECT_TRUE(disk.idle());
}

TEST(DiskThread, WhatWasGivenIsDoneBeforeItEnds) {
  const auto loop = EpollLoop::Create().value();
  int done = 0;
  {
    const auto disk = DiskThread::Start(*loop, "disk").value();
    for (int i = 0; i < 3; ++i) disk->Run([&] { ++done; }, [] {});
  }
  EXPECT_EQ(done, 3);
}

TEST(DiskThread, WithoutAThreadLeftThereIsNone) {
  const auto loop = EpollLoop::Create().value();
  const auto refused =
      DiskThread::Start(*loop, "disk", [](const std::string& name, const std::function<void()>&) {
        return StatusOr<std::thread>(ResourceExhausted("no thread \"{}\"", name));
      });
  EXPECT_EQ(refused.status(), ResourceExhausted("no thread \"disk\""));
}

TEST(FakeDiskQueue, HangsUntilItGoesOn) {
  FakeDiskQueue disk;
  std::vector<std::string> order;
  disk.Hang();
  disk.Run([&] { order.emplace_back("work"); }, [&] { order.emplace_back("done"); });
  EXPECT_THAT(order, IsEmpty());
  disk.GoOn();
  EXPECT_THAT(order, ElementsAre("work", "done"));
}

}  // namespace
}  // namespace galen
