#include "base/files/disk_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/files/fake_disk_queue.h"
#include "base/loop/epoll_loop.h"

namespace galen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

TEST(DiskThread, IsCalledByItsNameForThoseWhoLookAtTheProcess) {
  const auto loop = EpollLoop::Create().value();
  const auto disk = DiskThread::Start(*loop, "nvml").value();
  std::array<char, 16> name{};
  disk->Run([&] { pthread_getname_np(pthread_self(), name.data(), name.size()); },
            [&] { loop->Stop(); });
  loop->Run();
  EXPECT_STREQ(name.data(), "nvml");
}

TEST(DiskThread, WithoutAThreadLeftItSaysWhatToRaise) {
  const auto loop = EpollLoop::Create().value();
  const auto refused = DiskThread::Start(*loop, "disk", [](Task) -> std::thread {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("start thread \"disk\": "));
  EXPECT_THAT(refused.status().message(), HasSubstr("raise the limit of processes"));
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
