#include "doctor/observations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Observations, BeginAsNotLookedAt) {
  const Seen<int> seen;
  EXPECT_FALSE(seen.ok());
  EXPECT_EQ(seen.status().message(), "not looked at");
}

TEST(Observations, VersionsAreReadLeniently) {
  EXPECT_EQ(ParseVersion("v1.37.1")->minor, 37);
  EXPECT_EQ(ParseVersion("v1.34.4-gke.100")->minor, 34);
  EXPECT_EQ(ParseVersion("1.36")->minor, 36);
  for (const char* bad : {"", "v", "v1", "v1.", "galen-agent 0.1.0"}) {
    EXPECT_FALSE(ParseVersion(bad).has_value()) << bad;
  }
}

TEST(Observations, TheApiServersTimeIsOursLessTheDifference) {
  Observations seen = GoodObservations();
  seen.api.clock->ahead = 30s;
  EXPECT_EQ(seen.ApiNow(), seen.when - 30s);
  seen.api.clock = Unavailable("no cluster");
  EXPECT_EQ(seen.ApiNow(), seen.when);
}

TEST(Observations, LiveDriversAreThoseWhoseEndpointAnswers) {
  Observations seen = GoodObservations();
  EXPECT_THAT(seen.LiveDrivers(), ElementsAre("gpu.example.com"));
  (*seen.registry)[0].endpoint_listens = Unavailable("refused");
  EXPECT_THAT(seen.Drivers(), SizeIs(1));
  EXPECT_THAT(seen.LiveDrivers(), IsEmpty());
}

TEST(Observations, ADriverWithoutAnEndpointServesOnItsRegistrationSocket) {
  RegistryEntry entry = GoodDriver("gpu.example.com");
  entry.info->endpoint.clear();
  EXPECT_EQ(entry.endpoint(), entry.path);
}

}  // namespace
}  // namespace galen::doctor
