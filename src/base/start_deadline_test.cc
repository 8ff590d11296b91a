#include "base/start_deadline.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

using namespace std::chrono_literals;

TEST(StartDeadline, AStartThatBlocksIsMissedOnce) {
  std::binary_semaphore missed{0};
  const StartDeadline deadline(0s, [&] { missed.release(); });
  missed.acquire();  // as a start that would block until then
}

TEST(StartDeadline, AStartThatIsDoneMissesNothing) {
  bool missed = false;
  {
    const StartDeadline deadline(1h, [&] { missed = true; });
  }
  EXPECT_FALSE(missed);
}

}  // namespace
}  // namespace galen
