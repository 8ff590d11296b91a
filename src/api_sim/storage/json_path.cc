#include <charconv>
#include <string>

#include "api_sim/storage/presentation.h"

namespace galen::api_sim {
namespace {

std::string_view Unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
                      text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// A dot that belongs to a name is written "\.".
std::string WithoutBackslashes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '\\') out += c;
  }
  return out;
}

void AddMember(const Json& value, std::string_view name, std::vector<Json>& out) {
  if (const Json* member = value.Find(name)) out.push_back(*member);
}

// A filter such as `@.type=="Ready"`: whether the path's value equals, or with != differs from, the
// text. Values other than strings are compared as JSON, a missing one as "".
bool Passes(const Json& item, std::string_view condition) {
  const std::size_t sign = condition.find("==");
  const std::size_t unlike = condition.find("!=");
  const std::size_t at = std::min(sign, unlike);
  if (at == std::string_view::npos || condition.substr(0, 1) != "@") return false;
  std::string_view path = condition.substr(1, at - 1);
  while (!path.empty() && path.back() == ' ') path.remove_suffix(1);
  std::string_view wanted = condition.substr(at + 2);
  while (!wanted.empty() && wanted.front() == ' ') wanted.remove_prefix(1);
  const std::vector<Json> found = EvaluateJsonPath(path, item);
  const std::string text = found.empty()               ? ""
                           : found.front().is_string() ? found.front().AsString()
                                                       : found.front().Dump();
  return (text == Unquoted(wanted)) == (at == sign);
}

void AddSubscript(const Json& value, std::string_view inside, std::vector<Json>& out) {
  const Json::Array& items = value.items();
  if (inside == "*") {
    out.insert(out.end(), items.begin(), items.end());
  } else if (inside.substr(0, 2) == "?(" && inside.back() == ')') {
    for (const Json& item : items) {
      if (Passes(item, inside.substr(2, inside.size() - 3))) out.push_back(item);
    }
  } else if (inside.front() == '\'' || inside.front() == '"') {
    AddMember(value, WithoutBackslashes(Unquoted(inside)), out);
  } else {
    std::int64_t index = 0;
    const char* end = inside.data() + inside.size();
    const auto [read, error] = std::from_chars(inside.data(), end, index);
    // Not supported, such as a slice.
    if (error != std::errc() || read != end) return;
    // Negative indexes count from the end.
    if (index < 0) index += static_cast<std::int64_t>(items.size());
    if (index >= 0 && index < static_cast<std::int64_t>(items.size())) {
      out.push_back(items[static_cast<std::size_t>(index)]);
    }
  }
}

// Where the member's name that begins at the front ends; "\." belongs to the name.
std::size_t EndOfName(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\') {
      ++i;
    } else if (path[i] == '.' || path[i] == '[') {
      return i;
    }
  }
  return path.size();
}

}  // namespace

std::vector<Json> EvaluateJsonPath(std::string_view path, const Json& value) {
  if (path.size() >= 2 && path.front() == '{' && path.back() == '}') {
    path = path.substr(1, path.size() - 2);
  }
  std::vector<Json> current{value};
  while (!path.empty()) {
    std::vector<Json> next;
    if (path.front() == '[') {
      const std::size_t end = path.find(']');
      // Not closed, or empty.
      if (end == std::string_view::npos || end == 1) return {};
      for (const Json& item : current) AddSubscript(item, path.substr(1, end - 1), next);
      path.remove_prefix(end + 1);
    } else {
      if (path.front() == '.') path.remove_prefix(1);
      const std::size_t end = EndOfName(path);
      const std::string name = WithoutBackslashes(path.substr(0, end));
      for (const Json& item : current) {
        if (!name.empty()) AddMember(item, name, next);
      }
      // A lone dot, as at the start of ".[0]", has no effect.
      if (!name.empty()) current = next;
      path.remove_prefix(end);
      continue;
    }
    current = std::move(next);
  }
  return current;
}

}  // namespace galen::api_sim
