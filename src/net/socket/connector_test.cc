#include "net/socket/connector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/files/test_temporary_directory.h"
#include "net/test_loop_runner.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;

class ConnectorTest : public ::testing::Test {
 protected:
  StatusOr<Fd> Connect(const Address& address) {
    std::optional<StatusOr<Fd>> outcome;
    const Connector connector(runner_.loop(), resolver_, address,
                              [&](StatusOr<Fd> fd) { outcome.emplace(std::move(fd)); });
    EXPECT_FALSE(outcome.has_value());
    runner_.RunUntil([&] { return outcome.has_value(); });
    return *std::move(outcome);
  }

  LoopRunner runner_;
  Resolver resolver_{runner_.loop()};
};

TEST_F(ConnectorTest, UnixPathsAreConnected) {
  const TemporaryDirectory directory;
  const UnixListener listener = *ListenUnix(directory.Path("s"), 0600);
  EXPECT_TRUE(Connect(*ParseAddress("unix:" + directory.Path("s"))).ok());
}

TEST_F(ConnectorTest, EachAddressOfANameIsTried) {
  // "localhost" has an IPv6 address on most machines, where nobody listens here.
  const Fd listener = *ListenTcp(*NumericSocketAddress("127.0.0.1", 0));
  const Address bound = *ParseAddress(ToString(*BoundAddress(listener.get())));
  EXPECT_TRUE(
      Connect({.kind = Address::Kind::kTcp, .path = "", .host = "localhost", .port = bound.port})
          .ok());
}

TEST_F(ConnectorTest, RefusedPortIsNamedAndCanBeTriedAgain) {
  Address nobody;
  {
    const Fd listener = *ListenTcp(*NumericSocketAddress("127.0.0.1", 0));
    nobody = *ParseAddress(ToString(*BoundAddress(listener.get())));
  }
  const Status status = Connect(nobody).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(ToString(nobody)));
}

TEST_F(ConnectorTest, PathThatIsTooLongIsOurCallersMistake) {
  const Status status =
      Connect({.kind = Address::Kind::kUnix, .path = std::string(200, 'x'), .host = "", .port = 0})
          .status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::net
