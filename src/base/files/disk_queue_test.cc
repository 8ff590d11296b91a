// What every DiskQueue promises: one suite, run on both threads and on the fake; and RunFor.
#include "base/files/disk_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files/detached_queue.h"
#include "base/files/disk_thread.h"
#include "base/files/fake_disk_queue.h"
#include "base/loop/epoll_loop.h"

namespace galen {
namespace {

using ::testing::ElementsAre;

struct Waited {
  static std::unique_ptr<DiskQueue> Make(Loop& loop) {
    return DiskThread::Start(loop, "disk").value();
  }
};
struct Detached {
  static std::unique_ptr<DiskQueue> Make(Loop& loop) {
    return std::make_unique<DetachedQueue>(loop, "detached");
  }
};
struct Fake {
  static std::unique_ptr<DiskQueue> Make(Loop&) { return std::make_unique<FakeDiskQueue>(); }
};

template <typename Kind>
class DiskQueueContract : public testing::Test {
 protected:
  void End() {
    if (--open_ == 0) loop_->Stop();
  }
  // Until all that was given is done.
  void Settle() {
    while (open_ > 0) loop_->Run();
  }

  const std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  int open_ = 0;
  const std::unique_ptr<DiskQueue> queue_ = Kind::Make(*loop_);
};

using QueueKinds = testing::Types<Waited, Detached, Fake>;
TYPED_TEST_SUITE(DiskQueueContract, QueueKinds);

TYPED_TEST(DiskQueueContract, WhatFollowsComesAfterTheWorkAndOnTheLoopsThread) {
  ++this->open_;
  bool worked = false;
  std::thread::id thread;
  this->queue_->Run([&] { worked = true; },
                    [&] {
                      EXPECT_TRUE(worked);
                      thread = std::this_thread::get_id();
                      this->End();
                    });
  this->Settle();
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TYPED_TEST(DiskQueueContract, WorkIsDoneInTheOrderInWhichItIsGiven) {
  std::vector<int> order;
  this->open_ = 3;
  for (const int number : {1, 2, 3}) {
    this->queue_->Run([&order, number] { order.push_back(number); }, [this] { this->End(); });
  }
  this->Settle();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

// Whoever has only one piece of work out at a time gives the next from what follows on the last.
TYPED_TEST(DiskQueueContract, WhatIsGivenByWhatFollowsIsDoneAfterIt) {
  ++this->open_;
  std::vector<std::string> followed;
  this->queue_->Run([] {},
                    [&] {
                      this->queue_->Run([] {},
                                        [&] {
                                          followed.emplace_back("second");
                                          this->End();
                                        });
                      followed.emplace_back("first");
                    });
  this->Settle();
  EXPECT_THAT(followed, ElementsAre("first", "second"));
}

// A task holds what it needs and lets go of it once it has run.
TYPED_TEST(DiskQueueContract, WhatWorkHoldsIsLetGoOnceItIsDone) {
  const auto held = std::make_shared<int>(1);
  ++this->open_;
  this->queue_->Run([held] {}, [&, held] { this->End(); });
  this->Settle();
  this->loop_->Post([this] { this->loop_->Stop(); });
  this->loop_->Run();
  EXPECT_EQ(held.use_count(), 1);
}

// RunFor lets the one own what the other uses.
TYPED_TEST(DiskQueueContract, WhatFollowsExistsUntilTheWorkHasReturned) {
  ++this->open_;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  bool there = false;
  this->queue_->Run([&there, &seen] { there = !seen.expired(); },
                    [this, held = std::move(held)] { this->End(); });
  this->Settle();
  EXPECT_TRUE(there);
}

// What goes there and back may be what only moves.
TEST(DiskQueue, LendsWhatItWorksOnAndGivesItBack) {
  FakeDiskQueue queue;
  const Liveness owner;
  std::unique_ptr<std::string> lent = std::make_unique<std::string>("written");
  RunFor(
      owner, queue,
      [lent = std::move(lent)]() mutable {
        lent->append(" twice");
        return std::move(lent);
      },
      [&](std::unique_ptr<std::string> back) { lent = std::move(back); });
  ASSERT_NE(lent, nullptr);
  EXPECT_EQ(*lent, "written twice");
}

TEST(DiskQueue, TellsNobodyWhoHasGoneAndWorksAllTheSame) {
  FakeDiskQueue queue;
  std::optional<Liveness> owner;
  owner.emplace();
  bool worked = false, told = false;
  queue.Hang();
  RunFor(*owner, queue, [&] { return worked = true; }, [&](bool) { told = true; });
  owner.reset();
  queue.GoOn();
  EXPECT_TRUE(worked);
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace galen
