#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace galen {
namespace {

Fd OpenNull() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, ClosesItsDescriptorWhenItDies) {
  int number = -1;
  {
    const Fd fd = OpenNull();
    number = fd.get();
    EXPECT_TRUE(IsOpen(number));
  }
  EXPECT_FALSE(IsOpen(number));
}

TEST(Fd, MovesItsDescriptorAndClosesTheOneItHad) {
  Fd first = OpenNull();
  Fd second = OpenNull();
  const int kept = second.get();
  const int closed = first.get();
  first = std::move(second);
  EXPECT_EQ(first.get(), kept);
  EXPECT_FALSE(IsOpen(closed));
  EXPECT_TRUE(IsOpen(kept));
}

TEST(Fd, ReleasedDescriptorStaysOpen) {
  Fd fd = OpenNull();
  const int number = fd.Release();
  EXPECT_FALSE(fd);
  fd.Reset();
  EXPECT_TRUE(IsOpen(number));
  const Fd closes_it(number);
}

TEST(Fd, ZeroIsADescriptor) {
  Fd fd(0);
  EXPECT_TRUE(fd);
  (void)fd.Release();
  EXPECT_FALSE(Fd());
}

}  // namespace
}  // namespace galen
