#include "alloc/cel/library/type.h"

#include <gtest/gtest.h>

namespace galen::alloc::cel {
namespace {

const Type* Int() { return Simple(TypeKind::kInt); }
const Type* Text() { return Simple(TypeKind::kString); }
const Type* Dyn() { return Simple(TypeKind::kDyn); }

TEST(Unifier, LearnsWhatAVariableStandsFor) {
  TypePool pool;
  Unifier unifier(pool);
  const Type* element = unifier.Fresh();
  EXPECT_TRUE(unifier.Assign(pool.List(Int()), pool.List(element)));
  EXPECT_TRUE(AreSame(*unifier.Known(element), *Int()));
  EXPECT_FALSE(unifier.Assign(Text(), element));
  EXPECT_EQ(ToString(*unifier.Known(pool.Map(Text(), element))), "map(string, int)");
}

TEST(Unifier, LearnsNothingFromWhatDoesNotFit) {
  TypePool pool;
  Unifier unifier(pool);
  const Type* element = unifier.Fresh();
  EXPECT_FALSE(unifier.AssignAll({Int(), Int()}, {element, Text()}));
  EXPECT_EQ(unifier.Known(element)->kind, TypeKind::kVariable);
  EXPECT_EQ(unifier.Known(element, true)->kind, TypeKind::kDyn);
}

TEST(Unifier, TakesTheMoreGeneralOfTwo) {
  TypePool pool;
  Unifier unifier(pool);
  const Type* element = unifier.Fresh();
  EXPECT_TRUE(unifier.AssignAll({Int(), Dyn()}, {element, element}));
  EXPECT_EQ(unifier.Known(element)->kind, TypeKind::kDyn);
}

TEST(Unifier, AllowsNoTypeWithinItself) {
  TypePool pool;
  Unifier unifier(pool);
  const Type* element = unifier.Fresh();
  EXPECT_FALSE(unifier.Assign(pool.List(element), element));
  const Type* other = unifier.Fresh();
  EXPECT_TRUE(unifier.Assign(pool.List(other), element));
  EXPECT_FALSE(unifier.Assign(pool.List(element), other));
}

TEST(Unifier, LetsDynFitAndNullWhereNoneIsAValue) {
  TypePool pool;
  Unifier unifier(pool);
  EXPECT_TRUE(unifier.Assign(Dyn(), Int()));
  EXPECT_TRUE(unifier.Assign(pool.List(Simple(TypeKind::kAny)), pool.List(Int())));
  EXPECT_TRUE(unifier.Assign(Simple(TypeKind::kNull), Simple(TypeKind::kQuantity)));
  EXPECT_TRUE(unifier.Assign(Simple(TypeKind::kTimestamp), Simple(TypeKind::kNull)));
  EXPECT_FALSE(unifier.Assign(Simple(TypeKind::kNull), Int()));
  EXPECT_TRUE(unifier.Assign(pool.TypeOf(Int()), pool.TypeOf(Text())));
  EXPECT_FALSE(unifier.Assign(pool.Optional(Int()), Int()));
}

}  // namespace
}  // namespace galen::alloc::cel
