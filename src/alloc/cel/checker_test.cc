#include "alloc/cel/checker.h"

#include <gtest/gtest.h>

#include "alloc/cel/parser.h"

namespace galen::alloc::cel {
namespace {

// The type of an expression, or why it is refused.
std::string TypeOfExpression(std::string_view text, int minor = 37) {
  auto expression = Parse(text);
  if (!expression.ok()) return expression.status().message();
  TypePool types;
  const Status status = Check(**expression, {.minor = minor}, types);
  return status.ok() ? ToString(*(*expression)->type) : status.message();
}

bool IsRefused(std::string_view text) {
  auto expression = Parse(text);
  if (!expression.ok()) return false;  // the test is wrong
  TypePool types;
  return Check(**expression, {}, types).code() == Code::kInvalidArgument;
}

TEST(Checker, InfersTypes) {
  const std::pair<const char*, const char*> types[] = {
      {"1 + 2", "int"},
      {"1u", "uint"},
      {"b'a' + b'b'", "bytes"},
      {"null", "null"},
      {"[1, 2]", "list(int)"},
      {"[]", "list(dyn)"},
      {"[[], [1]]", "list(list(int))"},
      {"{'a': [1.5]}", "map(string, list(double))"},
      {"[1, 2][0]", "int"},
      {"{'a': 1}.a", "int"},
      {"{'a': 1}.?a", "optional_type(int)"},
      {"{'a': 1}[?'a'].orValue(2)", "int"},
      {"true ? 1 : 2", "int"},
      {"true ? dyn(1) : 'a'", "dyn"},
      {"type(1)", "type(int)"},
      {"google.protobuf.Timestamp", "type(timestamp)"},
      {"device.attributes['a'].b", "dyn"},
      {"device.capacity['a'].b", "kubernetes.Quantity"},
      {"device.attributes['a']", "map(string, dyn)"},
      {"[1].map(x, string(x))", "list(string)"},
      {"{'a': 1}.transformMap(k, v, v > 1)", "map(string, bool)"},
      {"['a'].transformMapEntry(i, v, {v: i})", "map(string, int)"},
      {"[1].filter(x, x > 1)", "list(int)"},
      {"cel.bind(x, 1, [x])", "list(int)"},
      {"optional.of(1).optMap(x, 'a')", "optional_type(string)"},
      {"optional.of(1).optFlatMap(x, optional.of('a'))", "optional_type(string)"},
      {"optional.none()", "optional_type(dyn)"},
      {"dyn([1]).sum()", "dyn"},
      {"[duration('1s')].sum()", "duration"},
      {"timestamp('2026-01-01T00:00:00Z') - duration('1s')", "timestamp"},
      {"[?optional.of(1)]", "list(int)"},
      {"lists.range(3).reverse()", "list(int)"},
      {"[1, 2].first()", "optional_type(int)"},
  };
  for (const auto& [text, type] : types) EXPECT_EQ(TypeOfExpression(text), type) << text;
  EXPECT_EQ(TypeOfExpression("device.attributes['a'].b", 36), "any");
}

TEST(Checker, RefusesNamesThatAreNotDeclared) {
  for (const char* text : {"a", "a.b", "device.x", "f(1)", "1.f()", "optional.x(1)", "x.all(y, y)",
                           "[1].all(x, y)", "cel.bind(x, 1, 2) + x", "A{}", "existsOne(1)",
                           "[1].existsOne(x, x > 0)", "'a'.reverse()"}) {
    EXPECT_TRUE(IsRefused(text)) << text << ": " << TypeOfExpression(text);
  }
}

TEST(Checker, RefusesArgumentsThatNoOverloadTakes) {
  for (const char* text : {"1 + 1.0",
                           "1 + 'a'",
                           "!1",
                           "-'a'",
                           "1 && true",
                           "true || 'a'",
                           "1 ? 2 : 3",
                           "true ? 1 : 'a'",
                           "'a' < 1",
                           "1 == 'a'",
                           "1 in ['a']",
                           "[1]['a']",
                           "{'a': 1}[1]",
                           "size(1)",
                           "'a'.matches(1)",
                           "quantity(1)",
                           "quantity('1').compareTo(1)",
                           "device.capacity['a'].b > 1",
                           "semver('1.0.0').compareTo(quantity('1'))",
                           "'a'.orValue(1)",
                           "[1].join()",
                           "1.all(x, true)",
                           "'a'.exists(x, true)",
                           "[1].all(x, x)",
                           "[1].filter(x, x)",
                           "[1].map(x, 1, x)",
                           "1.a",
                           "'a'.?b",
                           "[?1]",
                           "{?'a': 1}",
                           "[1].sortBy(x, [x])",
                           "optional.of(1).optFlatMap(x, x)",
                           "1.optMap(x, x)",
                           "device['driver']",
                           "[1].transformMapEntry(i, v, v)",
                           "duration('1s') * 2"}) {
    EXPECT_TRUE(IsRefused(text)) << text << ": " << TypeOfExpression(text);
  }
}

TEST(Checker, RefusesListsAndMapsOfSeveralTypes) {
  for (const char* text : {"[1, 'a']", "[1, dyn(2)]", "[1, null]", "[[1], ['a']]",
                           "{'a': 1, 'b': 'c'}", "{'a': 1, 1: 2}", "[optional.of(1), 1]"}) {
    EXPECT_TRUE(IsRefused(text)) << text << ": " << TypeOfExpression(text);
  }
}

TEST(Checker, LetsLocalsHideTypesAndTheDevice) {
  EXPECT_EQ(TypeOfExpression("[1].map(device, device)"), "list(int)");
  EXPECT_EQ(TypeOfExpression("['a'].map(int, int)"), "list(string)");
  EXPECT_EQ(TypeOfExpression("[1].map(device, .device.driver)"), "list(string)");
}

TEST(Checker, LeavesWhichOverloadsMayRun) {
  auto expression = Parse("dyn(1) + dyn(2)").value();
  TypePool types;
  ASSERT_TRUE(Check(*expression, {}, types).ok());
  EXPECT_GT(expression->overloads.size(), 5u);
  auto known = Parse("1 + 2").value();
  ASSERT_TRUE(Check(*known, {}, types).ok());
  EXPECT_EQ(known->overloads.size(), 1u);
}

TEST(Checker, SaysThatMessagesAreNotSupported) {
  auto expression = Parse("google.protobuf.Int32Value{value: 1} == 1").value();
  TypePool types;
  EXPECT_EQ(Check(*expression, {}, types).code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace galen::alloc::cel
