#include <algorithm>
#include <limits>
#include <optional>

#include "alloc/cel/library/functions.h"
#include "alloc/cel/values/literal.h"
#include "base/code_point.h"

// Tested by functions_test.cc.
namespace galen::alloc::cel {
namespace {

bool AreStrings(Arguments arguments) {
  return arguments[0].is(Kind::kString) && arguments[1].is(Kind::kString);
}

// The bytes of the next code point; 1 for a broken byte. REQUIRES: a text that is not empty.
std::size_t StepOf(std::string_view text) {
  return std::max<std::size_t>(ReadCodePoint(text).bytes, 1);
}

// Where the code point of an index begins, in bytes; the text's size right after the last one;
// nullopt beyond.
std::optional<std::size_t> OffsetOfIndex(std::string_view text, std::int64_t index) {
  if (index < 0) return std::nullopt;
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += StepOf(text.substr(at));
  if (index > 0) return std::nullopt;
  return at;
}

std::int64_t Length(std::string_view text) { return static_cast<std::int64_t>(CodePoints(text)); }

Value OutOfRange(Arena& arena, std::int64_t index) {
  return arena.Fail("index out of range: {}", index);
}

template <typename Change>
Value WithLetters(Arena& arena, std::string_view text, Change change) {
  if (!arena.Holds(text.size())) return arena.TooLarge();
  char* copy = arena.Room<char>(text.size() + 1);
  std::transform(text.begin(), text.end(), copy, change);
  return Value::String({copy, text.size()});
}

// The white space of Unicode, which Go's TrimSpace cuts.
bool IsWhiteSpace(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// The last code point; no bytes when it is broken.
CodePoint LastCodePoint(std::string_view text) {
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(4, text.size()); ++bytes) {
    const CodePoint last = ReadCodePoint(text.substr(text.size() - bytes));
    if (last.bytes == bytes) return last;
  }
  return {};
}

// Pieces between separators, at most `pieces_max`; without a separator, code points.
std::vector<std::string_view> Pieces(std::string_view text, std::string_view separator,
                                     std::size_t pieces_max) {
  std::vector<std::string_view> pieces;
  if (separator.empty() && text.empty()) return pieces;
  while (pieces.size() + 1 < pieces_max) {
    std::size_t at = 0;
    if (separator.empty()) {
      at = StepOf(text);
      if (at == text.size()) break;
    } else {
      at = text.find(separator);
      if (at == std::string_view::npos) break;
    }
    pieces.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  pieces.push_back(text);
  return pieces;
}

// How many times `old` is to be replaced, at most `count_max` when that is not negative.
std::size_t Replacements(std::string_view text, std::string_view old, std::int64_t count_max) {
  std::size_t count = 0;
  if (old.empty()) {
    count = CodePoints(text) + 1;
  } else {
    for (std::size_t at = text.find(old); at != std::string_view::npos;
         at = text.find(old, at + old.size())) {
      ++count;
    }
  }
  return count_max < 0 ? count : std::min(count, static_cast<std::size_t>(count_max));
}

// Searching looks at all of what is wanted at each place of the text, at worst.
bool MaySearch(Arena& arena, std::string_view text, std::string_view wanted) {
  const auto tenths = [](std::string_view of) { return of.size() / Arena::kBytesOfAStep + 1; };
  return arena.Work(tenths(text) * tenths(wanted));
}

// Writes texts one after the other into memory of the arena.
class TextWriter {
 public:
  TextWriter(Arena& arena, std::size_t size) : begin_(arena.Room<char>(size + 1)), at_(begin_) {}
  void Write(std::string_view text) { at_ = std::copy(text.begin(), text.end(), at_); }
  Value Done() const { return Value::String({begin_, static_cast<std::size_t>(at_ - begin_)}); }

 private:
  char* const begin_;
  char* at_;
};

}  // namespace

Value Contains(Arena& arena, Arguments arguments) {
  if (!AreStrings(arguments)) return arena.Fail("no such overload: contains");
  if (!MaySearch(arena, arguments[0].text(), arguments[1].text())) return arena.OverWork();
  return Value::Bool(arguments[0].text().find(arguments[1].text()) != std::string_view::npos);
}

Value StartsWith(Arena& arena, Arguments arguments) {
  if (!AreStrings(arguments)) return arena.Fail("no such overload: startsWith");
  return Value::Bool(arguments[0].text().starts_with(arguments[1].text()));
}

Value EndsWith(Arena& arena, Arguments arguments) {
  if (!AreStrings(arguments)) return arena.Fail("no such overload: endsWith");
  return Value::Bool(arguments[0].text().ends_with(arguments[1].text()));
}

Value CharAt(Arena& arena, Arguments arguments) {
  const std::string_view text = arguments[0].text();
  const std::optional<std::size_t> at = OffsetOfIndex(text, arguments[1].integer());
  if (!at) return OutOfRange(arena, arguments[1].integer());
  if (*at == text.size()) return Value::String("");
  return Value::String(text.substr(*at, StepOf(text.substr(*at))));
}

Value IndexOfText(Arena& arena, Arguments arguments) {
  const std::string_view text = arguments[0].text(), wanted = arguments[1].text();
  const std::int64_t from = arguments.size() == 3 ? arguments[2].integer() : 0;
  if (from < 0) return OutOfRange(arena, from);
  const std::optional<std::size_t> offset = OffsetOfIndex(text, from);
  if (wanted.empty()) return Value::Int(offset ? from : Length(text));
  if (!offset) return Value::Int(-1);
  if (!MaySearch(arena, text, wanted)) return arena.OverWork();
  const std::size_t at = text.find(wanted, *offset);
  return Value::Int(at == std::string_view::npos ? -1 : Length(text.substr(0, at)));
}

Value LastIndexOfText(Arena& arena, Arguments arguments) {
  const std::string_view text = arguments[0].text(), wanted = arguments[1].text();
  const std::int64_t length = Length(text);
  const std::int64_t from = arguments.size() == 3 ? arguments[2].integer() : length;
  if (from < 0) return OutOfRange(arena, from);
  if (wanted.empty()) return Value::Int(std::min(from, length));
  if (arguments.size() == 3 && from >= length) return Value::Int(-1);
  if (!MaySearch(arena, text, wanted)) return arena.OverWork();
  const std::size_t offset = OffsetOfIndex(text, from).value_or(text.size());
  const std::size_t at = text.rfind(wanted, offset);
  return Value::Int(at == std::string_view::npos ? -1 : Length(text.substr(0, at)));
}

Value LowerAscii(Arena& arena, Arguments arguments) {
  return WithLetters(arena, arguments[0].text(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

Value UpperAscii(Arena& arena, Arguments arguments) {
  return WithLetters(arena, arguments[0].text(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
}

Value Substring(Arena& arena, Arguments arguments) {
  const std::string_view text = arguments[0].text();
  const std::int64_t start = arguments[1].integer();
  const std::int64_t end = arguments.size() == 3 ? arguments[2].integer() : Length(text);
  const std::optional<std::size_t> from = OffsetOfIndex(text, start);
  if (arguments.size() == 3 && start > end) {
    return arena.Fail("invalid substring range. start: {}, end: {}", start, end);
  }
  if (!from) return OutOfRange(arena, start);
  const std::optional<std::size_t> to = OffsetOfIndex(text, end);
  if (!to) return OutOfRange(arena, end);
  return Value::String(text.substr(*from, *to - *from));
}

Value Trim(Arena&, Arguments arguments) {
  std::string_view text = arguments[0].text();
  while (!text.empty()) {
    const CodePoint first = ReadCodePoint(text);
    if (first.bytes == 0 || !IsWhiteSpace(first.value)) break;
    text.remove_prefix(first.bytes);
  }
  while (!text.empty()) {
    const CodePoint last = LastCodePoint(text);
    if (last.bytes == 0 || !IsWhiteSpace(last.value)) break;
    text.remove_suffix(last.bytes);
  }
  return Value::String(text);
}

Value Quote(Arena& arena, Arguments arguments) {
  static constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  static constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string quoted = "\"";
  for (std::string_view text = arguments[0].text(); !text.empty();) {
    const CodePoint c = ReadCodePoint(text);
    const std::size_t special = kSpecial.find(text[0]);
    if (c.bytes == 0) {
      quoted += ToUtf8(0xFFFD);
    } else if (special != std::string_view::npos) {
      quoted += {'\\', kLetters[special]};
    } else {
      quoted += text.substr(0, c.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
  }
  quoted += '"';
  if (!arena.Holds(quoted.size())) return arena.TooLarge();
  return Value::String(arena.Keep(quoted));
}

Value Replace(Arena& arena, Arguments arguments) {
  std::string_view text = arguments[0].text();
  const std::string_view old = arguments[1].text(), fresh = arguments[2].text();
  const std::int64_t count_max = arguments.size() == 4 ? arguments[3].integer() : -1;
  if (!MaySearch(arena, text, old)) return arena.OverWork();
  std::size_t count = Replacements(text, old, count_max);
  if (!arena.Holds(text.size()) || !arena.Holds(text.size() + count * fresh.size())) {
    return arena.TooLarge();
  }
  TextWriter writer(arena, text.size() + count * fresh.size());
  for (; count > 0; --count) {
    if (old.empty()) {
      writer.Write(fresh);
      if (text.empty()) break;
      const std::size_t step = StepOf(text);
      writer.Write(text.substr(0, step));
      text.remove_prefix(step);
    } else {
      const std::size_t at = text.find(old);
      writer.Write(text.substr(0, at));
      writer.Write(fresh);
      text.remove_prefix(at + old.size());
    }
  }
  writer.Write(text);
  return writer.Done();
}

Value Split(Arena& arena, Arguments arguments) {
  const std::int64_t count = arguments.size() == 3 ? arguments[2].integer() : -1;
  if (count == 0) return arena.MakeList({});
  const std::size_t pieces_max =
      count < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(count);
  if (!arena.Holds(arguments[0].text().size() * sizeof(Value))) return arena.TooLarge();
  if (!MaySearch(arena, arguments[0].text(), arguments[1].text())) return arena.OverWork();
  std::vector<Value> values;
  for (const auto piece : Pieces(arguments[0].text(), arguments[1].text(), pieces_max)) {
    values.push_back(Value::String(piece));
  }
  return arena.MakeList(values);
}

Value JoinTexts(Arena& arena, Arguments arguments) {
  const List& list = arguments[0].list();
  const std::string_view separator = arguments.size() == 2 ? arguments[1].text() : "";
  std::size_t size = 0;
  for (std::size_t i = 0; i < list.size; ++i) {
    if (!arena.Work(1)) return arena.OverWork();
    if (!At(list, i).is(Kind::kString)) return arena.Fail("join: an element is no string");
    size += At(list, i).text().size() + separator.size();
    if (!arena.Holds(size)) return arena.TooLarge();
  }
  TextWriter writer(arena, size);
  for (std::size_t i = 0; i < list.size; ++i) {
    if (i > 0) writer.Write(separator);
    writer.Write(At(list, i).text());
  }
  return writer.Done();
}

}  // namespace galen::alloc::cel
