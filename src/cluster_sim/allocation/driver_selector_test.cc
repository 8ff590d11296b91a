#include "cluster_sim/allocation/driver_selector.h"

#include <gtest/gtest.h>

namespace galen::cluster_sim {
namespace {

std::string DriverOf(std::string_view expression) {
  const StatusOr<std::string> driver = SelectedDriver(expression);
  return driver.ok() ? *driver : "refused";
}

TEST(DriverSelector, ReadsTheDriverWithAnyQuotesAndSpaces) {
  EXPECT_EQ(DriverOf(R"(device.driver == "gpu.example.com")"), "gpu.example.com");
  EXPECT_EQ(DriverOf("device.driver=='gpu.example.com'"), "gpu.example.com");
  EXPECT_EQ(DriverOf("\n  device.driver\t==  \"a\"  \n"), "a");
}

TEST(DriverSelector, RefusesWhatItWouldHaveToGuess) {
  for (const char* expression :
       {"", "true", "device.driver", R"(device.driver != "a")", R"(device.driver == "a)",
        R"(device.driver == "a")"
        " && device.attributes['a'].b",
        R"(device.driver == "a" || device.driver == "b")", R"(device.driver == "")",
        R"(device.driver == "a'")", R"(device.driver == ")", R"(devicedriver == "a")",
        R"(!(device.driver == "a"))", R"(device.driver == "A b")"}) {
    EXPECT_EQ(DriverOf(expression), "refused") << expression;
  }
}

TEST(DriverSelector, SaysWhatItWasGivenAndWhatItTakes) {
  const Status status = SelectedDriver("device.attributes['x'].memory > 3").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("device.attributes['x'].memory > 3"), std::string::npos);
  EXPECT_NE(status.message().find("only driver selection"), std::string::npos);
}

TEST(DriverSelector, ShowsOnlyTheBeginningOfALongExpression) {
  const Status status = SelectedDriver(std::string(10'000, 'x')).status();
  EXPECT_LT(status.message().size(), 300U);
}

}  // namespace
}  // namespace galen::cluster_sim
