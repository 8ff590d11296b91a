#include "base/files/detached_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>

#include "base/loop/epoll_loop.h"
#include "base/loop/fake_loop.h"

namespace galen {
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

// The loop is not for threads, so the one that is started at last is left without its work.
TEST(DetachedQueue, TriesAgainWhenNoThreadIsLeft) {
  FakeLoop loop;
  int tries = 0;
  DetachedQueue queue(loop, "sysfs", [&](const std::string& name, std::function<void()>) {
    return ++tries < 3 ? StatusOr<std::thread>(ResourceExhausted("none left"))
                       : StartThread(name, [] {});
  });
  EXPECT_EQ(queue.started(), ResourceExhausted("none left"));
  loop.Advance(DetachedQueue::kRetryAfter);
  EXPECT_EQ(tries, 2);
  loop.Advance(DetachedQueue::kRetryAfter);
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(queue.started(), OkStatus());
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
}  // namespace galen
