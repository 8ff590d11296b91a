#include "cluster_sim/allocation/claim_requests.h"

#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"

namespace galen::cluster_sim {
namespace {

const std::map<ObjectKey, Json>& Classes() {
  static const std::map<ObjectKey, Json> kClasses = [] {
    Json clever = api_sim::FakeClass("clever", "");
    clever["spec"]["selectors"] =
        api_sim::Yaml(R"([{cel: {expression: "device.capacity['m'] > 3"}}])");
    return api_sim::ByName(
        {api_sim::FakeClass("gpu", "gpu.example.com"), api_sim::FakeClass("any", ""), clever});
  }();
  return kClasses;
}

Json ClaimOf(std::string_view requests) {
  Json claim = api_sim::FakeClaim("c", "gpu");
  claim["spec"]["devices"]["requests"] = api_sim::Yaml(requests);
  return claim;
}

std::string WhyNot(std::string_view requests) {
  return ReadClaimRequests(ClaimOf(requests), Classes()).status().message();
}

TEST(ClaimRequests, ReadsWhatIsAskedForExactly) {
  const ClaimRequests read = ReadClaimRequests(ClaimOf(R"([{name: main, exactly: {
      deviceClassName: gpu, count: 3, tolerations: [{operator: Exists}]}}])"),
                                               Classes())
                                 .value();
  ASSERT_EQ(read.requests.size(), 1U);
  const DeviceWish& wish = read.requests[0].wishes.at(0);
  EXPECT_EQ(wish.request, "main");
  EXPECT_EQ(wish.count, 3);
  EXPECT_FALSE(wish.all);
  EXPECT_EQ(wish.drivers, std::vector<std::string>{"gpu.example.com"});
  EXPECT_EQ(wish.tolerations.size(), 1U);
}

TEST(ClaimRequests, AnAbsentCountIsOneAndAClassWithoutSelectorsIsAnyDriver) {
  const ClaimRequests read =
      ReadClaimRequests(ClaimOf("[{name: a, exactly: {deviceClassName: any}}]"), Classes()).value();
  EXPECT_EQ(read.requests[0].wishes[0].count, 1);
  EXPECT_TRUE(read.requests[0].wishes[0].drivers.empty());
}

TEST(ClaimRequests, AlternativesKeepTheirOrderAndFullNames) {
  const ClaimRequests read = ReadClaimRequests(ClaimOf(R"([{name: main, firstAvailable: [
      {name: big, deviceClassName: gpu, allocationMode: All},
      {name: small, deviceClassName: any}]}])"),
                                               Classes())
                                 .value();
  ASSERT_EQ(read.requests[0].wishes.size(), 2U);
  EXPECT_EQ(read.requests[0].wishes[0].request, "main/big");
  EXPECT_TRUE(read.requests[0].wishes[0].all);
  EXPECT_EQ(read.requests[0].wishes[1].request, "main/small");
}

TEST(ClaimRequests, SelectorsOfTheRequestNarrowTheClass) {
  const ClaimRequests read = ReadClaimRequests(ClaimOf(R"([{name: a, exactly: {
      deviceClassName: any, selectors: [{cel: {expression: device.driver == "x"}}]}}])"),
                                               Classes())
                                 .value();
  EXPECT_EQ(read.requests[0].wishes[0].drivers, std::vector<std::string>{"x"});
}

TEST(ClaimRequests, AMissingClassIsSomethingToWaitFor) {
  const Status status =
      ReadClaimRequests(ClaimOf("[{name: a, exactly: {deviceClassName: tpu}}]"), Classes())
          .status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(), "request a: there is no DeviceClass tpu");
}

TEST(ClaimRequests, OtherCelIsRefusedByTheNameOfItsClassOrRequest) {
  const std::string of_class = WhyNot("[{name: a, exactly: {deviceClassName: clever}}]");
  EXPECT_TRUE(of_class.starts_with("device class clever: galen-sim's scheduler")) << of_class;
  const std::string of_request = WhyNot(R"([{name: a, exactly: {deviceClassName: gpu,
      selectors: [{cel: {expression: "true"}}]}}])");
  EXPECT_TRUE(of_request.starts_with("request a: galen-sim's scheduler")) << of_request;
}

TEST(ClaimRequests, WhatFirstFitCannotDecideIsRefused) {
  EXPECT_NE(WhyNot("[{name: a, exactly: {deviceClassName: gpu, capacity: {requests: {m: 1}}}}]")
                .find("capacity"),
            std::string::npos);
  EXPECT_NE(WhyNot("[{name: a}]").find("neither exactly nor firstAvailable"), std::string::npos);
  Json constrained = api_sim::FakeClaim("c", "gpu");
  constrained["spec"]["devices"]["constraints"] = api_sim::Yaml("[{matchAttribute: x/y}]");
  EXPECT_EQ(ReadClaimRequests(constrained, Classes()).status().code(), Code::kInvalidArgument);
}

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
  EXPECT_NE(status.message().find("it supports only device.driver"), std::string::npos);
}

TEST(DriverSelector, ShowsOnlyTheBeginningOfALongExpression) {
  const Status status = SelectedDriver(std::string(10'000, 'x')).status();
  EXPECT_LT(status.message().size(), 300U);
}

}  // namespace
}  // namespace galen::cluster_sim
