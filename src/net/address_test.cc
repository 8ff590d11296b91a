#include "net/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::net {
namespace {

using ::testing::HasSubstr;

TEST(Address, PathsNamesAndNumbersAreRead) {
  EXPECT_EQ(
      *ParseAddress("unix:/run/a b.sock"),
      (Address{.kind = Address::Kind::kUnix, .path = "/run/a b.sock", .host = "", .port = 0}));
  EXPECT_EQ(*ParseAddress("tcp:127.0.0.1:6443"),
            (Address{.kind = Address::Kind::kTcp, .path = "", .host = "127.0.0.1", .port = 6443}));
  EXPECT_EQ(ParseAddress("tcp:[::1]:0")->host, "::1");
  EXPECT_EQ(ParseAddress("tcp:api.example.org:443")->host, "api.example.org");
}

TEST(Address, WhatIsReadIsWrittenTheSame) {
  for (const char* text : {"unix:/a", "tcp:1.2.3.4:5", "tcp:[fe80::1]:65535", "tcp:name:0"}) {
    EXPECT_EQ(ToString(*ParseAddress(text)), text);
  }
}

struct BadAddress {
  const char* text;
  const char* complaint;
};
class AddressError : public ::testing::TestWithParam<BadAddress> {};

TEST_P(AddressError, SaysWhatToWriteInstead) {
  const Status status = ParseAddress(GetParam().text).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, AddressError,
    ::testing::Values(BadAddress{"", "neither"}, BadAddress{"/run/a", "neither"},
                      BadAddress{"http://a:1", "neither"}, BadAddress{"unix:", "no path"},
                      BadAddress{"tcp:name", "no port"}, BadAddress{"tcp:name:", "no port"},
                      BadAddress{"tcp:name:65536", "0 to 65535"},
                      BadAddress{"tcp:name:1x", "0 to 65535"}, BadAddress{"tcp::443", "no host"},
                      BadAddress{"tcp:::1:443", "brackets"}, BadAddress{"tcp:[]:1", "brackets"},
                      BadAddress{"tcp:[1]]:6443", "brackets"},
                      BadAddress{"tcp:[[::1]:1", "brackets"}));

}  // namespace
}  // namespace galen::net
