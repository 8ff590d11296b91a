#include "alloc/cel/planner.h"

#include <gtest/gtest.h>

#include "alloc/cel/checker.h"
#include "alloc/cel/parser.h"

namespace galen::alloc::cel {
namespace {

using K = Expression::Kind;

// A planned expression and the constants that it refers to.
struct Planned {
  std::unique_ptr<Arena> constants = std::make_unique<Arena>();
  ExpressionPointer expression = {};
  Plan plan = {};
};

StatusOr<Planned> PlanOf(std::string_view text) {
  Planned planned;
  TypePool types;
  ASSIGN_OR_RETURN(planned.expression, Parse(text));
  RETURN_IF_ERROR(Check(*planned.expression, {}, types));
  ASSIGN_OR_RETURN(planned.plan, MakePlan(planned.expression, *planned.constants));
  return planned;
}

TEST(Planner, MakesOneReadOfAPath) {
  const auto planned = PlanOf(R"(device.attributes["d.io"].name)");
  ASSERT_TRUE(planned.ok());
  const Expression& read = *planned->expression;
  EXPECT_EQ(read.kind, K::kRead);
  EXPECT_EQ(read.part, Part::kAttribute);
  EXPECT_EQ(read.domain, "d.io");
  EXPECT_EQ(read.id, "name");
  EXPECT_EQ(read.cost, 4u);
  EXPECT_TRUE(read.children.empty());
}

TEST(Planner, MakesOneReadOfTestsAndOptionals) {
  for (const char* text :
       {R"(has(device.attributes["d.io"].name))", R"("name" in device.attributes["d.io"])"}) {
    const auto planned = PlanOf(text);
    EXPECT_TRUE(planned->expression->test_only) << text;
    EXPECT_EQ(planned->expression->part, Part::kAttribute) << text;
  }
  const auto optional = PlanOf(R"(device.capacity["d.io"].?memory)");
  EXPECT_TRUE(optional->expression->optional);
  EXPECT_EQ(optional->expression->part, Part::kCapacity);
}

TEST(Planner, FoldsConstants) {
  for (const char* text : {R"(quantity("40Gi"))", R"(semver("1.2.3"))", R"(int("7"))", "[1, 2]",
                           "{'a': [1]}", "duration('1h')", "type(1)", "int"}) {
    EXPECT_EQ(PlanOf(text)->expression->kind, K::kConstant) << text;
  }
  // It fails when it is evaluated, not before.
  EXPECT_EQ(PlanOf(R"(quantity("x"))")->expression->kind, K::kCall);
  EXPECT_EQ(PlanOf(R"([size("a")])")->expression->kind, K::kList);
}

TEST(Planner, RefusesConstantsThatDoNotConvert) {
  for (const char* text :
       {R"(int("a"))", R"(duration("1 hour"))", R"(timestamp("now"))", R"(uint(-1))",
        R"("a".matches("("))", R"(matches("(", "a"))", R"("a".find("["))", R"("a".findAll("*"))"}) {
    EXPECT_EQ(PlanOf(text).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_TRUE(PlanOf(R"(device.driver.matches(device.driver))").ok());
}

TEST(Planner, CompilesConstantPatternsOnce) {
  EXPECT_NE(PlanOf(R"(device.driver.matches("^a"))")->expression->pattern, nullptr);
  EXPECT_EQ(PlanOf(R"(device.driver.matches(device.driver))")->expression->pattern, nullptr);
}

TEST(Planner, GivesVariablesThatLiveAtOnceDifferentPlaces) {
  EXPECT_EQ(PlanOf("[1].all(x, [2].all(y, z, x + y + z > 0))")->plan.slots, 3);
  EXPECT_EQ(PlanOf("[1].all(x, x > 0) && [2].all(y, y > 0)")->plan.slots, 1);
  EXPECT_EQ(PlanOf("true")->plan.slots, 0);
}

}  // namespace
}  // namespace galen::alloc::cel
