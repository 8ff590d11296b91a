#include "alloc/cel/evaluator.h"

#include <gtest/gtest.h>

#include "alloc/cel/test_selector.h"

namespace galen::alloc::cel {
namespace {

// Each is a selector, and its answer for the test's device.
void ExpectAnswers(std::initializer_list<std::pair<const char*, const char*>> answers) {
  for (const auto& [expression, answer] : answers) {
    EXPECT_EQ(Answer(expression), answer) << expression << ": " << Reason(expression);
  }
}

TEST(Evaluator, AbsorbsErrorsInLogic) {
  ExpectAnswers({
      {"1 / 0 == 1 || true", "true"},
      {"true || 1 / 0 == 1", "true"},
      {"1 / 0 == 1 && false", "false"},
      {"false || 1 / 0 == 1", "error"},
      {"1 / 0 == 1 && true", "error"},
      {"dyn('a') || true", "true"},
      {"dyn('a') && true", "error"},
      {"false && 1 / 0 == 1 && true", "false"},
      {"1 / 0 == 1 ? true : true", "error"},
      {"true ? true : 1 / 0 == 1", "true"},
      {"dyn(1) ? true : true", "error"},
  });
}

TEST(Evaluator, WalksWithQuantifiers) {
  ExpectAnswers({
      {"[].all(x, false)", "true"},
      {"[].exists(x, true)", "false"},
      {"[0, 1].exists(x, 1 / x == 1)", "true"},
      {"[0, 1].all(x, 1 / x == 2)", "false"},
      {"[0, 1].all(x, 1 / x == 1)", "error"},
      {"[0, 2].exists(x, 1 / x == 1)", "error"},
      {"[1, 2, 2].exists_one(x, x == 1)", "true"},
      {"[1, 2, 2].exists_one(x, x == 2)", "false"},
      {"[0, 1].exists_one(x, 1 / x == 1)", "error"},
      {"{'a': 1}.all(k, k == 'a')", "true"},
      {"{'a': 1}.exists(k, v, k == 'a' && v == 1)", "true"},
      {"['a'].existsOne(i, v, i == 0 && v == 'a')", "true"},
      {"dyn([dyn(1), dyn('a')]).all(x, x)", "error"},
      {"dyn(1).all(x, true)", "error"},
  });
}

TEST(Evaluator, WalksWithTransformations) {
  ExpectAnswers({
      {"[1, 2].map(x, x + 1) == [2, 3]", "true"},
      {"[1, 2].map(x, x > 1, x * 2) == [4]", "true"},
      {"[0].map(x, 1 / x) == []", "error"},
      {"[1, 2].filter(x, x > 1) == [2]", "true"},
      {"{'a': 1}.filter(k, true) == ['a']", "true"},
      {"[5, 6].transformList(i, v, i > 0, v) == [6]", "true"},
      {"['a'].transformMap(i, v, v + 'b') == {0: 'ab'}", "true"},
      {"['a', 'b'].transformMap(i, v, i > 0, v) == {1: 'b'}", "true"},
      {"['a', 'b'].transformMapEntry(i, v, {v: i}) == {'a': 0, 'b': 1}", "true"},
      {"['a', 'a'].transformMapEntry(i, v, {v: i}) == {}", "error"},
      {"['b', 'a'].sortBy(x, x) == ['a', 'b']", "true"},
      {"[1, 2, 3].sortBy(x, -x) == [3, 2, 1]", "true"},
      {"[[1, 2], [3]].map(x, x.map(y, y * 2)) == [[2, 4], [6]]", "true"},
  });
}

TEST(Evaluator, MakesListsAndMaps) {
  ExpectAnswers({
      {"[?optional.of(1), ?optional.none()] == [1]", "true"},
      {"{?'a': optional.of(1), ?'b': optional.none()} == {'a': 1}", "true"},
      {"[?dyn(1)] == [1]", "error"},
      {"{'a': 1, 'a': 2} == {'a': 2}", "true"},
      {"{dyn([1]): 1} == {}", "error"},
      {"[1 / 0] == []", "error"},
      {"{1 / 0: 1} == {}", "error"},
      {"{1: 1 / 0} == {}", "error"},
      {"lists.range(40).transformMap(i, v, v)[39] == 39", "true"},
      {"lists.range(40).transformMap(i, v, v)[40] == 39", "error"},
  });
}

TEST(Evaluator, SelectsByKeyAndIndex) {
  ExpectAnswers({
      {"{'a': 1}.a == 1", "true"},
      {"{'a': 1}['a'] == 1", "true"},
      {"{'a': 1}.b == 1", "error"},
      {"[1, 2][1] == 2", "true"},
      {"[1, 2][2] == 2", "error"},
      {"[1, 2][-1] == 2", "error"},
      {"[1, 2][dyn(1u)] == 2", "true"},
      {"[1, 2][dyn(1.0)] == 2", "true"},
      {"[1, 2][dyn(1.5)] == 2", "error"},
      {"[1, 2][dyn('a')] == 2", "error"},
      {"{1: 'a'}[dyn(1.0)] == 'a'", "true"},
      {"{1.0: 'a'}[dyn(1)] == 'a'", "error"},
      {"{1: 'a'}[dyn(1u)] == 'a'", "true"},
      {"dyn(1).a == 1", "error"},
      {"has({'a': 1}.a) && !has({'a': 1}.b)", "true"},
      {"has(dyn(1).a)", "false"},
      {"dyn(device).driver == 'd.io'", "true"},
      {"dyn(device).attributes['d.io'].i == 7", "true"},
      {"size(dyn(device)) == 4", "true"},
      {"dyn(device.attributes)['nosuch'] == {}", "true"},
  });
}

TEST(Evaluator, HandsOptionalsOn) {
  ExpectAnswers({
      {"{'a': {'b': 1}}.?a.b.value() == 1", "true"},
      {"{'a': {'b': 1}}.?c.b.hasValue()", "false"},
      {"{'a': 1}.?a.or(optional.of(2)).value() == 1", "true"},
      {"{'a': 1}.?b.or(optional.of(2)).value() == 2", "true"},
      {"{'a': 1}.?b.orValue(3) == 3", "true"},
      {"{'a': 1}.?a.orValue(1 / 0) == 1", "true"},
      {"dyn(1).orValue(2) == 1", "error"},
      {"{'a': 1}.?a.optMap(x, x + 1).value() == 2", "true"},
      {"{'a': 1}.?b.optMap(x, x / 0).hasValue()", "false"},
      {"{'a': 1}.?a.optFlatMap(x, optional.none()).hasValue()", "false"},
      {"has({'a': optional.of({'b': 1})}.a.b)", "true"},
      {"[1, 2][?1].value() == 2 && ![1][?1].hasValue()", "true"},
      {"optional.of(optional.of(dyn(true))).value().value()", "true"},
      {"optional.of(dyn(true)).optMap(x, x)", "refused"},
      {"dyn(optional.of(true))", "true"},
      {"dyn(optional.none())", "error"},
      {"device.attributes['d.io'].?s.optMap(x, x.startsWith('A')).orValue(false)", "true"},
  });
}

TEST(Evaluator, BindsWhatIsNotReadWithoutEvaluatingIt) {
  ExpectAnswers({
      {"cel.bind(x, 1 / 0, true)", "true"},
      {"cel.bind(x, 1 / 0, x == 1)", "error"},
      {"cel.bind(x, 1, cel.bind(x, x + 1, x == 2))", "true"},
      {"cel.bind(x, device, x.driver == 'd.io')", "true"},
      {"cel.bind(x, device.attributes['d.io'], 'i' in x && x.i == 7 && !has(x.nosuch))", "true"},
      {"cel.bind(x, device.attributes['d.io'].nosuch, true)", "true"},
      {"[1, 2].all(x, cel.bind(y, x, y == x))", "true"},
  });
}

TEST(Evaluator, ReadsListsOfAttributes) {
  ExpectAnswers({
      {"device.attributes['d.io'].ints == [1, 7]", "true"},
      {"device.attributes['d.io'].strings.join(',') == 'a,b'", "true"},
      {"device.attributes['d.io'].versions.exists(v, v.major() == 1)", "true"},
      {"type(device.attributes['d.io'].b) == bool", "true"},
      {"device.attributes.map(d, d) == ['d.io', 'other.io']", "true"},
      {"device.capacity['d.io'].all(k, v, v.isGreaterThan(quantity('0')))", "true"},
  });
}

}  // namespace
}  // namespace galen::alloc::cel
