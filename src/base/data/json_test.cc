#include "base/data/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace galen {
namespace {

Json Parsed(std::string_view text) {
  StatusOr<Json> json = Json::Parse(text);
  EXPECT_TRUE(json.ok()) << ToString(json.status());
  return json.ok() ? *std::move(json) : Json();
}

std::string FaultOf(std::string_view text) {
  const StatusOr<Json> json = Json::Parse(text);
  return json.ok() ? "parsed" : json.status().message();
}

TEST(Json, ReadsEveryKindOfValue) {
  const Json json = Parsed(R"({"n":null,"b":true,"i":-7,"d":1.5,"s":"x","a":[1,"2"],"o":{}})");
  EXPECT_TRUE(json["n"].is_null());
  EXPECT_TRUE(json["b"].AsBool());
  EXPECT_EQ(json["i"].AsInt(), -7);
  EXPECT_EQ(json["d"].AsDouble(), 1.5);
  EXPECT_EQ(json["s"].AsString(), "x");
  EXPECT_EQ(json["a"][1].AsString(), "2");
  EXPECT_TRUE(json["o"].is_object());
}

TEST(Json, ReadingWhatIsNotThereGivesNull) {
  const Json pod = Parsed(R"({"spec":{"nodeName":"n1"},"list":[1]})");
  EXPECT_TRUE(pod["status"]["containerStatuses"][5]["name"].is_null());
  EXPECT_EQ(pod["spec"].AsInt(42), 42);
  EXPECT_EQ(pod["list"][0].AsString(), "");
  EXPECT_TRUE(pod["spec"]["nodeName"].items().empty());
  EXPECT_EQ(pod.Find("status"), nullptr);
  EXPECT_TRUE(pod.Has("spec"));
}

TEST(Json, IntegerIsADoubleWhenAsked) {
  EXPECT_EQ(Parsed("3").AsDouble(), 3.0);
  EXPECT_EQ(Parsed("3.0").AsInt(9), 9);
}

TEST(Json, IntegersKeepAll64BitsAndBecomeDoublesBeyond) {
  EXPECT_EQ(Parsed("9223372036854775807").AsInt(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Parsed("-9223372036854775808").AsInt(), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(Parsed("9223372036854775808").is_double());
  EXPECT_TRUE(Json(std::numeric_limits<std::uint64_t>::max()).is_double());
  EXPECT_EQ(Json(std::uint64_t{7}), Json(7));
}

TEST(Json, NumbersSurviveBeingWrittenAndRead) {
  for (const char* text : {"0.1", "1e+300", "5e-324", "1.7976931348623157e308", "3.0", "-0.5"}) {
    const Json json = Parsed(text);
    EXPECT_EQ(Parsed(json.Dump()), json) << text;
  }
}

TEST(Json, NumberTooSmallForADoubleIsZeroAndNotNoNumber) {
  // The last one's exponent is the least that 64 bits hold.
  for (const char* text : {"1e-324", "-1e-324", "0.1e-330", "0e-32", "1e-99999999999999999999",
                           "0.00001e-320", "0.1e-9223372036854775808"}) {
    const StatusOr<Json> value = Json::Parse(text);
    ASSERT_TRUE(value.ok()) << text;
    EXPECT_EQ(value->AsDouble(1), 0.0) << text;
    EXPECT_EQ(*Json::Parse(value->Dump()), *value);
  }
}

TEST(Json, NumberTooLargeForADoubleIsAnError) {
  for (const char* text : {"1.8e308", "-1.8e308", "1e309", "0.18e309", "1e99999999999999999999",
                           "10e9223372036854775807"}) {
    const StatusOr<Json> value = Json::Parse(text);
    EXPECT_EQ(value.status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(Parsed("0.00000000017e317").AsDouble(), 1.7e307);
}

TEST(Json, OfRepeatedKeysTheLastCounts) {
  EXPECT_EQ(Parsed(R"({"a":1,"a":2})").Dump(), R"({"a":2})");
}

TEST(Json, EqualValuesHaveEqualText) {
  EXPECT_EQ(Parsed(R"({"b":1, "a":[ ]})").Dump(), R"({"a":[],"b":1})");
  EXPECT_EQ(Parsed(R"({"b":1,"a":[]})"), Parsed(R"({"a":[],"b":1})"));
  EXPECT_NE(Json(1), Json(1.0));
}

TEST(Json, BrokenTextNamesTheByte) {
  for (const auto& [text, offset] : {std::pair<std::string_view, std::string>{"{\"a\":1", "byte 6"},
                                     {"[1,]", "byte 3"},
                                     {"{} x", "byte 3"},
                                     {"", "byte 0"},
                                     {"nul", "byte 3"},
                                     {"\"\x01\"", "byte 1"},
                                     {"[01]", "byte 2"}}) {
    EXPECT_NE(FaultOf(text).find(offset), std::string::npos) << text << ": " << FaultOf(text);
  }
}

TEST(Json, BytesThatAreNoUtf8AreAnError) {
  for (const std::string_view text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\\ud800\"",
                                      "\"\\udc00\"", "\"\xe2\x82\""}) {
    EXPECT_NE(FaultOf(text), "parsed") << text;
  }
  EXPECT_EQ(Parsed(R"("\ud83d\ude00é")").AsString(), "\xF0\x9F\x98\x80é");
}

TEST(Json, ZeroByteDoesNotHideWhatFollows) {
  EXPECT_NE(FaultOf(std::string_view("{}\0{", 4)), "parsed");
  EXPECT_EQ(Parsed(R"("a\u0000b")").AsString(), std::string("a\0b", 3));
}

TEST(Json, DepthIsBoundedSoThatABombIsAnError) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(Json::Parse(nested(Json::kDepthMax)).ok());
  EXPECT_NE(FaultOf(nested(Json::kDepthMax + 1)).find("deeper than 128"), std::string::npos);
  EXPECT_NE(FaultOf(std::string(1'000'000, '[')), "parsed");
  std::string objects;
  for (int i = 0; i < 200; ++i) objects += R"({"a":)";
  EXPECT_NE(FaultOf(objects).find("deeper"), std::string::npos);
}

TEST(Json, BuildsValuesInPlace) {
  Json pod;
  pod["metadata"]["name"] = "a";
  pod["spec"]["containers"].Append(Json::MakeObject({{"name", "c"}, {"tty", true}}));
  pod["gone"] = 1;
  EXPECT_TRUE(pod.Erase("gone"));
  EXPECT_FALSE(pod.Erase("gone"));
  EXPECT_FALSE(Json(3).Erase("x"));
  EXPECT_EQ(pod.Dump(),
            R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","tty":true}]}})");
}

TEST(Json, KeyMayBeAnyKindOfText) {
  Json json;
  const std::string name = "a/b";
  const char* plain = "c";
  json[name] = 1;
  json[plain] = 2;
  json[std::string_view("d")] = 3;
  EXPECT_EQ(json.Dump(), R"({"a/b":1,"c":2,"d":3})");
}

TEST(Json, EscapesWhatWouldBreakTheText) {
  EXPECT_EQ(Json("a\"\\\n\x1b"
                 "é")
                .Dump(),
            R"("a\"\\\n\u001Bé")");
}

TEST(Json, WhatJsonCannotSayIsNull) {
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).Dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).Dump(), "null");
}

// A terminal obeys U+009B as it does ESC [, and U+202E turns a line round.
TEST(Json, NoTextOfItCommandsATerminal) {
  const std::string model = "H200 \u009b2J\u202e\x7f\x1b[2J";
  const Json json = Json::MakeObject({{"model", model}, {model, "91 °C"}});
  for (const std::string& text : {json.Dump(), json.DumpPretty()}) {
    EXPECT_EQ(text.find("\u009b"), std::string::npos) << text;
    EXPECT_EQ(text.find("\u202e"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x7f'), std::string::npos) << text;
    EXPECT_NE(text.find("91 °C"), std::string::npos) << text;
    EXPECT_EQ(Parsed(text), json) << "programs read the same value";
  }
}

TEST(Json, PrettyTextIndentsAsAsked) {
  const Json json = Parsed(R"({"a":[1,{}],"b":[]})");
  EXPECT_EQ(json.DumpPretty(), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
  EXPECT_EQ(json.DumpPretty(4).substr(0, 7), "{\n    \"");
}

TEST(JsonDeathTest, WritingAMemberOfANumberIsOurBug) {
  Json json(1);
  EXPECT_DEATH(json["a"] = 2, "is_object");
}

}  // namespace
}  // namespace galen
