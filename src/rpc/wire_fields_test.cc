#include "rpc/wire_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace galen::rpc {
namespace {

using std::literals::operator""sv;

TEST(WireFields, AreReadInOrderWithTheirTypes) {
  // 1: varint 300; 2: bytes "ab"; 3: fixed64 1; 5: fixed32 2; 4680: varint 1.
  WireFields fields(
      "\x08\xac\x02\x12\x02"
      "ab\x19\x01\0\0\0\0\0\0\0\x2d\x02\0\0\0\xc0\xa4\x02\x01"sv);
  const auto varint = fields.Next();
  ASSERT_TRUE(varint);
  EXPECT_EQ(varint->number, 1u);
  EXPECT_EQ(varint->number_value, 300u);
  EXPECT_EQ(fields.Next()->bytes, "ab");
  EXPECT_EQ(fields.Next()->number_value, 1u);
  const auto fixed32 = fields.Next();
  EXPECT_EQ(fixed32->type, WireFields::Type::kFixed32);
  EXPECT_EQ(fixed32->number_value, 2u);
  EXPECT_EQ(fields.Next()->number, 4680u);
  EXPECT_FALSE(fields.Next());
  EXPECT_FALSE(fields.broken());
}

TEST(WireFields, EndAtWhatMakesNoSense) {
  for (const std::string_view bytes : {
           "\x08"sv,  // a number without a value
           "\x12\x05"
           "ab"sv,                                            // five bytes of which two are there
           "\x0b"sv,                                          // a group
           "\x00\x01"sv,                                      // field number 0
           "\x19\x01\x02"sv,                                  // half a fixed64
           "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv,  // a varint without end
       }) {
    WireFields fields(bytes);
    EXPECT_FALSE(fields.Next());
    EXPECT_TRUE(fields.broken());
    EXPECT_FALSE(fields.Next());
  }
}

TEST(WireFields, SurviveAnything) {
  Random random(4680);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random.Below(64), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Below(256));
    WireFields fields(bytes);
    std::size_t total = 0;
    while (const auto field = fields.Next()) total += 1 + field->bytes.size();
    EXPECT_LE(total, bytes.size());
  }
}

}  // namespace
}  // namespace galen::rpc
