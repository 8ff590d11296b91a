#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/loop/fake_loop.h"
#include "net/socket/connector.h"
#include "net/test_loop_runner.h"

namespace galen::net {
namespace {

using Addresses = StatusOr<std::vector<SocketAddress>>;
using ::testing::HasSubstr;

TEST(Resolver, NumbersNeedNoThread) {
  FakeLoop loop;
  Resolver resolver(loop);
  std::optional<Addresses> found;
  const auto resolution = resolver.Resolve("127.0.0.1", 80, [&](Addresses a) { found = a; });
  EXPECT_FALSE(found.has_value());
  loop.RunUntilIdle();
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ((*found)->size(), 1U);
  EXPECT_EQ(ToString((*found)->front()), "tcp:127.0.0.1:80");
}

TEST(Resolver, NamesAreLookedUp) {
  LoopRunner runner;
  Resolver resolver(runner.loop());
  std::optional<Addresses> found;
  const auto resolution = resolver.Resolve("localhost", 80, [&](Addresses a) { found = a; });
  runner.RunUntil([&] { return found.has_value(); });
  ASSERT_TRUE(found->ok()) << found->status().message();
  EXPECT_THAT(ToString((*found)->front()), ::testing::EndsWith(":80"));
}

TEST(Resolver, UnknownNameCanBeTriedAgainAndIsNamed) {
  LoopRunner runner;
  Resolver resolver(runner.loop());
  std::optional<Addresses> found;
  // A name that no resolver may ever know (RFC 6761); too long a label fails without a network.
  const std::string name = std::string(70, 'x') + ".invalid";
  const auto resolution = resolver.Resolve(name, 80, [&](Addresses a) { found = a; });
  runner.RunUntil([&] { return found.has_value(); });
  EXPECT_EQ(found->status().code(), Code::kUnavailable);
  EXPECT_THAT(found->status().message(), HasSubstr(name));
}

TEST(Resolver, GivenUpLookupTellsNobody) {
  LoopRunner runner;
  bool called = false;
  {
    Resolver resolver(runner.loop());
    auto numeric = resolver.Resolve("127.0.0.1", 80, [&](const Addresses&) { called = true; });
    auto name = resolver.Resolve("localhost", 80, [&](const Addresses&) { called = true; });
    numeric.reset();
    name.reset();
  }
  // The resolver is gone, so that no thread of its can post an answer any more; one that was posted
  // before comes now.
  runner.Settle();
  EXPECT_FALSE(called);
}

TEST(Resolver, LoopMayEndWhileALookupIsUnderWay) {
  for (int i = 0; i < 20; ++i) {
    LoopRunner runner;
    Resolver resolver(runner.loop());
    const auto name = resolver.Resolve("localhost", 80, [](const Addresses&) { FAIL(); });
  }
}

}  // namespace
}  // namespace galen::net
