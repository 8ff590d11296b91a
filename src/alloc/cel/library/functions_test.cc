#include "alloc/cel/library/functions.h"

#include <gtest/gtest.h>

#include "alloc/cel/test_selector.h"

namespace galen::alloc::cel {
namespace {

// All of them hold.
void ExpectTrue(std::initializer_list<const char*> expressions) {
  for (const char* expression : expressions) {
    EXPECT_EQ(Answer(expression), "true") << expression << ": " << Reason(expression);
  }
}
// All of them fail, but not before they are evaluated.
void ExpectErrors(std::initializer_list<const char*> expressions) {
  for (const char* expression : expressions) {
    EXPECT_EQ(Answer(expression), "error") << expression << ": " << Reason(expression);
  }
}

TEST(Functions, CalculateWithNumbers) {
  ExpectTrue({"1 + 2 == 3", "5 - 7 == -2", "3 * 4 == 12", "7 / 2 == 3", "-7 / 2 == -3",
              "-7 % 2 == -1", "7u / 2u == 3u", "7u % 2u == 1u", "1.5 * 2.0 == 3.0",
              "1.0 / 0.0 > 1e308", "-(-3) == 3", "-(1.5) == -1.5",
              "9223372036854775807 + 0 == 9223372036854775807"});
  ExpectErrors({"9223372036854775807 + 1 == 0",
                "-9223372036854775808 - 1 == 0",
                "9223372036854775807 * 2 == 0",
                "-9223372036854775808 / -1 == 0",
                "-9223372036854775808 % -1 == 0",
                "-(-9223372036854775808) == 0",
                "1 / 0 == 0",
                "1 % 0 == 0",
                "1u / 0u == 0u",
                "1u % 0u == 0u",
                "0u - 1u == 0u",
                "18446744073709551615u + 1u == 0u",
                "18446744073709551615u * 2u == 0u",
                "dyn(1) + dyn(1.0) == 2",
                "dyn('a') - dyn('b') == 'c'",
                "dyn('a') * dyn(2) == 1",
                "dyn([1]) / dyn([1]) == 1",
                "dyn('a') % dyn('a') == 1",
                "-dyn('a') == 1",
                "!dyn(1)"});
}

TEST(Functions, AddTextsAndLists) {
  ExpectTrue(
      {"'a' + 'b' == 'ab'", "b'a' + b'b' == b'ab'", "[1] + [2] == [1, 2]", "[] + [1] == [1]"});
}

TEST(Functions, CalculateWithTimes) {
  ExpectTrue(
      {"timestamp('2026-01-01T00:00:00Z') + duration('1.5s') == "
       "timestamp('2026-01-01T00:00:01.5Z')",
       "duration('1s') + timestamp(0) == timestamp(1)",
       "timestamp(0) - duration('0.5s') == timestamp('1969-12-31T23:59:59.5Z')",
       "timestamp(5) - timestamp(3) == duration('2s')",
       "duration('1m') - duration('1s') == duration('59s')",
       "timestamp(1) > timestamp(0) && duration('1s') < duration('2s')",
       "-dyn(duration('1s')) == duration('-1s')"});
  ExpectErrors({"timestamp('9999-12-31T23:59:59Z') + duration('1s') == timestamp(0)",
                "timestamp('0001-01-01T00:00:00Z') - duration('1s') == timestamp(0)",
                "timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z') == "
                "duration('0s')",
                "duration(string(9223372036.0) + 's') + duration('1h') == duration('0s')"});
}

TEST(Functions, CompareAndContain) {
  ExpectTrue({"1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3", "'a' < 'b' && b'a' < b'b' && false < true",
              "1 < 1.5 && 1u < 2 && -1 < 1u", "1 in [1, 2] && !(3 in [1, 2])", "'a' in {'a': 1}",
              "dyn(1.0) in [1]", "!(null in [dyn(1)])", "1 != 2", "dyn(1) != 'a'",
              "quantity('1') != dyn('a')"});
  ExpectErrors(
      {"dyn(1) < 'a'", "dyn(1) in dyn('a')", "quantity('1') == dyn(1)", "double('NaN') < 1.0"});
}

TEST(Functions, Convert) {
  ExpectTrue({"bool('true') && !bool('f')",
              "int('-5') == -5",
              "int(5u) == 5",
              "int(5.9) == 5",
              "int(timestamp(7)) == 7",
              "int(duration('1s')) == 1000000000",
              "uint('5') == 5u",
              "uint(5.9) == 5u",
              "uint(5) == 5u",
              "double('1.5') == 1.5",
              "double(3) == 3.0",
              "double(3u) == 3.0",
              "string(1) == '1'",
              "string(1u) == '1'",
              "string(true) == 'true'",
              "string(1.5) == '1.5'",
              "string(b'a') == 'a'",
              "string(duration('90s')) == '90s'",
              "string(timestamp(0)) == '1970-01-01T00:00:00Z'",
              "bytes('ä') == b'\\xc3\\xa4'",
              "duration('1h') == duration(duration('3600s'))",
              "timestamp(0) == timestamp(timestamp(0))",
              "type(1) == int && type([]) == list && type(type(1)) == type",
              "type(timestamp(0)) == google.protobuf.Timestamp",
              "dyn(1) == 1",
              "size('äb') == 2",
              "b'ab'.size() == 2",
              "size({'a': 1}) == 1"});
  // Behind an index, for a constant is converted when the expression is compiled.
  ExpectErrors(
      {"int([dyn('a')][0]) == 1", "int([dyn(1e30)][0]) == 1",
       "int([dyn(9223372036854775808u)][0]) == 1", "uint([dyn(-1)][0]) == 1u",
       "uint([dyn(-1.5)][0]) == 1u", "double([dyn('x')][0]) == 1.0", "bool([dyn('yes')][0])",
       "string([dyn(b'\\xff')][0]) == ''", "string([dyn([1])][0]) == ''",
       "timestamp([dyn('x')][0]) == timestamp(0)", "duration([dyn('x')][0]) == duration('1s')",
       "timestamp([dyn(9223372036854775807)][0]) == timestamp(0)", "size([dyn(1)][0]) == 1"});
}

TEST(Functions, ReadFieldsOfTimes) {
  ExpectTrue({"timestamp('2026-03-04T05:06:07.089Z').getFullYear() == 2026",
              "timestamp('2026-03-04T05:06:07Z').getMonth() == 2",
              "timestamp('2026-03-04T05:06:07Z').getDayOfMonth() == 3",
              "timestamp('2026-03-04T05:06:07Z').getDate() == 4",
              "timestamp('2026-03-04T05:06:07Z').getDayOfWeek() == 3",
              "timestamp('2026-03-04T05:06:07Z').getDayOfYear() == 62",
              "timestamp('2026-03-04T05:06:07Z').getHours() == 5",
              "timestamp('2026-03-04T05:06:07Z').getHours('-08:30') == 20",
              "timestamp('2026-03-04T05:06:07Z').getDate('-08:30') == 3",
              "timestamp('2026-03-04T05:06:07Z').getMinutes('+00:30') == 36",
              "timestamp('2026-03-04T05:06:07Z').getHours('UTC') == 5",
              "timestamp('2026-03-04T05:06:07Z').getMinutes() == 6",
              "timestamp('2026-03-04T05:06:07Z').getSeconds() == 7",
              "timestamp('2026-03-04T05:06:07.089Z').getMilliseconds() == 89",
              "duration('90m').getHours() == 1", "duration('90m').getMinutes() == 90",
              "duration('1.5s').getSeconds() == 1", "duration('1.5s').getMilliseconds() == 1500"});
  ExpectErrors(
      {"timestamp(0).getHours('Europe/Berlin') == 1", "timestamp(0).getHours('x:y') == 1"});
}

TEST(Functions, WorkOnStringsByCodePoints) {
  ExpectTrue({"'käse'.contains('äs') && 'käse'.startsWith('k') && 'käse'.endsWith('se')",
              "'käse'.charAt(1) == 'ä'",
              "'käse'.charAt(4) == ''",
              "'käse'.indexOf('s') == 2",
              "'abab'.indexOf('b', 2) == 3",
              "'abab'.indexOf('x') == -1",
              "'ab'.indexOf('') == 0",
              "'ab'.indexOf('', 9) == 2",
              "'ab'.indexOf('a', 9) == -1",
              "'abab'.lastIndexOf('b') == 3",
              "'abab'.lastIndexOf('b', 2) == 1",
              "'abab'.lastIndexOf('') == 4",
              "'ab'.lastIndexOf('b', 9) == -1",
              "'ÄbC'.lowerAscii() == 'Äbc' && 'äbC'.upperAscii() == 'äBC'",
              "'a-b-a'.replace('a', 'c') == 'c-b-c'",
              "'a-b-a'.replace('a', 'c', 1) == 'c-b-a'",
              "'ab'.replace('', '-') == '-a-b-'",
              "'ab'.replace('', '-', 2) == '-a-b'",
              "'a'.replace('a', 'b', 0) == 'a'",
              "'a,b,c'.split(',') == ['a', 'b', 'c']",
              "'a,b,c'.split(',', 2) == ['a', 'b,c']",
              "'aä'.split('') == ['a', 'ä']",
              "'a'.split(',', 0) == []",
              "''.split(',') == ['']",
              "''.split('') == []",
              "'abc'.split('', 2) == ['a', 'bc']",
              "'käse'.substring(1) == 'äse'",
              "'käse'.substring(1, 3) == 'äs'",
              "'ab'.substring(2) == ''",
              "' \\u00a0\\ta b\\u2003\\n'.trim() == 'a b'",
              "['a', 'b'].join() == 'ab'",
              "['a', 'b'].join('-') == 'a-b'",
              "[].join('-') == ''",
              "strings.quote('a\\n\"\\\\') == '\"a\\\\n\\\\\"\\\\\\\\\"'"});
  ExpectErrors({"'ab'.charAt(3) == ''", "'ab'.charAt(-1) == ''", "'ab'.indexOf('a', -1) == 0",
                "'ab'.lastIndexOf('a', -1) == 0", "'ab'.substring(3) == ''",
                "'ab'.substring(2, 1) == ''", "'ab'.substring(0, 3) == ''",
                "'ab'.substring(-1) == ''", "[dyn('a'), dyn(1)].join() == ''",
                "dyn(1).contains('a')", "'a'.contains(dyn(1))"});
}

TEST(Functions, MatchPatterns) {
  ExpectTrue({"'a100'.matches('[0-9]+')", "matches('a100', '^a')", "'a100'.find('[0-9]+') == '100'",
              "'a'.find('x') == ''", "'a1b22'.findAll('[0-9]+') == ['1', '22']",
              "'a1b22'.findAll('[0-9]+', 1) == ['1']",
              "device.driver.find(device.driver) == 'd.io'",
              "device.driver.findAll(device.driver) == ['d.io']"});
  ExpectErrors({"'a'.matches(['('][0])", "dyn(1).matches('a')", "'a'.find('(' + 'a') == ''",
                "'a'.findAll('(' + 'a') == []", "dyn(1).findAll('a') == []"});
}

TEST(Functions, LookThroughLists) {
  ExpectTrue({"[1, 2, 2].isSorted() && ![2, 1].isSorted() && [].isSorted()", "[1, 2].sum() == 3",
              "[1.5].sum() == 1.5 && [1u].sum() == 1u", "[duration('1s')].sum() == duration('1s')",
              "[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3", "['b', 'a'].min() == 'a'",
              "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2",
              "[1].indexOf(2) == -1 && [1].lastIndexOf(2) == -1",
              "[1, 2].includes(2) && 'a'.includes('a') && !'a'.includes('b')",
              "sets.contains([1, 2], [2]) && !sets.contains([1], [2])",
              "sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent([1], [1, 2])",
              "sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])"});
  ExpectErrors({"[].min() == 1", "dyn([1, 2]).map(x, x + 9223372036854775806).sum() == 0",
                "dyn([quantity('1')]).min() == 1", "dyn([quantity('1')]).isSorted()"});
}

TEST(Functions, MakeListsOfLists) {
  ExpectTrue({"[1, 2, 3].slice(1, 3) == [2, 3]", "[[1], [2, 3]].flatten() == [1, 2, 3]",
              "[dyn([[1]]), dyn(2)].flatten(2) == [1, 2]", "[[1]].flatten(0) == [[1]]",
              "[3, 1, 2].sort() == [1, 2, 3]", "[1, 2, 1].distinct() == [1, 2]",
              "[1, 2].reverse() == [2, 1]", "lists.range(3) == [0, 1, 2]",
              "[1, 2].first().value() == 1 && [1, 2].last().value() == 2",
              "!dyn([]).first().hasValue() && !dyn([]).last().hasValue()", "dyn([]).sort() == []"});
  ExpectErrors({"[1].slice(0, 2) == []", "[1].slice(1, 0) == []", "[1].slice(-1, 1) == []",
                "[[1]].flatten(-1) == []", "lists.range(-1) == []", "lists.range(1000001) == []",
                "[dyn(1), dyn('a')].sort() == []", "dyn([quantity('1')]).sort() == []",
                "dyn(1).sort() == []", "dyn(1).flatten() == []"});
}

TEST(Functions, HandleOptionals) {
  ExpectTrue(
      {"optional.of(1).hasValue() && !optional.none().hasValue()", "optional.of(1).value() == 1",
       "!optional.ofNonZeroValue(0).hasValue()", "!optional.ofNonZeroValue('').hasValue()",
       "!optional.ofNonZeroValue(dyn([])).hasValue()", "!optional.ofNonZeroValue(null).hasValue()",
       "optional.ofNonZeroValue(2).value() == 2",
       "optional.unwrap([optional.of(1), optional.none()]) == [1]",
       "[optional.of(1), optional.none()].unwrapOpt() == [1]"});
  ExpectErrors({"optional.none().value() == 1", "optional.unwrap(dyn([1])) == []"});
}

TEST(Functions, CalculateWithQuantities) {
  ExpectTrue({"isQuantity('1Gi') && !isQuantity('1 Gi')", "sign(quantity('-1')) == -1",
              "quantity('1Gi').isGreaterThan(quantity('1G'))",
              "quantity('1').isLessThan(quantity('2'))",
              "quantity('1Gi').compareTo(quantity('1024Mi')) == 0",
              "quantity('1k').asInteger() == 1000", "quantity('1k').isInteger()",
              "!quantity('100m').isInteger()", "quantity('500m').asApproximateFloat() == 0.5",
              "quantity('1').add(quantity('2')) == quantity('3')",
              "quantity('1').add(2) == quantity('3')", "quantity('1').sub(2) == quantity('-1')",
              "quantity('3').sub(quantity('1')) == quantity('2')"});
  ExpectErrors({"quantity('1 Gi') == quantity('1')", "quantity('100m').asInteger() == 1",
                "quantity('1').add(dyn('a')) == quantity('1')"});
}

TEST(Functions, EndSumsOfQuantitiesThatGrowWithoutBound) {
  std::string sum = "quantity('9E')";
  for (int i = 0; i < 50; ++i) {
    sum = fmt::format("cel.bind(q{0}, {1}, q{0}.add(q{0}))", i, sum);
  }
  EXPECT_EQ(Reason(sum + " == quantity('1')"), "quantity overflow");
}

TEST(Functions, CompareVersions) {
  ExpectTrue({"isSemver('1.2.3') && !isSemver('v1.2.3')", "isSemver('v1.2', true)",
              "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2",
              "semver('1.2.3').patch() == 3", "semver('1.2.3') == semver('1.2.3+a')",
              "semver('1.2.3').compareTo(semver('1.2.10')) == -1",
              "semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1'))",
              "semver('1.2.3').isLessThan(semver('2.0.0'))"});
  ExpectErrors(
      {"semver('1.2') == semver('1.2.0')", "semver('1.2.3').compareTo(dyn('1.2.3')) == 0"});
}

}  // namespace
}  // namespace galen::alloc::cel
