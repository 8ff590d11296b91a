#include "base/files/disk_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/files/fake_disk_queue.h"

namespace galen {
namespace {

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
