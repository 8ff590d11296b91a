#include "probes/sysfs/detached_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <semaphore>

#include "base/loop/epoll_loop.h"
#include "base/loop/fake_loop.h"

namespace galen::probes {
namespace {

TEST(DetachedQueue, DoesWorkBesideTheLoopAndReportsOnIt) {
  const auto loop = EpollLoop::Create().value();
  DetachedQueue queue(*loop, "sysfs");
  int worked = 0;
  queue.Run([&] { worked = 1; },
            [&] {
              EXPECT_EQ(worked, 1);
              loop->Stop();
            });
  loop->Run();
}

TEST(DetachedQueue, ItsThreadHasTheNameOfWhatItWaitsFor) {
  const auto loop = EpollLoop::Create().value();
  DetachedQueue queue(*loop, "exporter");
  char name[16] = {};
  queue.Run([&] { pthread_getname_np(pthread_self(), name, sizeof(name)); }, [&] { loop->Stop(); });
  loop->Run();
  EXPECT_STREQ(name, "exporter");
}

TEST(DetachedQueue, TriesAgainWhenNoThreadIsLeft) {
  FakeLoop loop;
  int tries = 0;
  DetachedQueue queue(loop, "sysfs", [&](Task) { return ++tries == 3; });
  EXPECT_EQ(tries, 1);
  loop.Advance(DetachedQueue::kRetryAfter);
  loop.Advance(DetachedQueue::kRetryAfter);
  EXPECT_EQ(tries, 3);
  loop.Advance(DetachedQueue::kRetryAfter);
  EXPECT_EQ(tries, 3) << "the third has a thread";
}

// The thread lives on with what it owns; nothing of the queue is touched when it wakes.
TEST(DetachedQueue, IsDestroyedAtOnceWhileItsWorkHangs) {
  struct Gate {
    std::binary_semaphore entered{0}, open{0}, left{0};
  };
  const auto gate = std::make_shared<Gate>();
  bool reported = false;
  {
    const auto loop = EpollLoop::Create().value();
    DetachedQueue queue(*loop, "sysfs");
    queue.Run(
        [gate] {
          gate->entered.release();
          gate->open.acquire();
          gate->left.release();
        },
        [&] { reported = true; });
    gate->entered.acquire();
  }
  gate->open.release();
  gate->left.acquire();
  EXPECT_FALSE(reported);
}

}  // namespace
}  // namespace galen::probes
