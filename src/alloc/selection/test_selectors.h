// Selectors of a few words, for tests of what asks them. Terms are joined by " && ":
//   true, false                         what they say
//   device.driver == "x"                of the driver x
//   device.attributes["d"].id           that bool; an error when it is absent or no bool
//   device.attributes["d"].id == "x"    that text; an error when it is absent
// Everything else does not compile. Terms are asked from left to right, up to the first that is not
// true.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloc/selection/selector_memo.h"

namespace galen::alloc {

class TestSelector final : public Selector {
 public:
  struct Term {
    enum class Kind { kConstant, kDriver, kFlag, kText } kind;
    bool constant = false;
    QualifiedName name = {};
    std::string text = {};
  };

  explicit TestSelector(std::vector<Term> terms, int* asked)
      : terms_(std::move(terms)), asked_(asked) {
    for (const Term& term : terms_) {
      if (term.kind == Term::Kind::kDriver) reads_.driver = true;
      if (term.kind == Term::Kind::kFlag || term.kind == Term::Kind::kText)
        reads_.attributes.push_back(term.name);
    }
  }

  const cel::Reads& reads() const override { return reads_; }
  cel::Outcome Matches(const DeviceFacts& device) const override {
    ++*asked_;
    for (const auto& [name, value] : device.attributes) {
      if (std::holds_alternative<UnknownKind>(value)) return Error("unknown kind " + name.id);
    }
    for (const Term& term : terms_) {
      cel::Outcome outcome = MatchesTerm(term, device);
      if (outcome.kind != cel::Outcome::Kind::kTrue) return outcome;
    }
    return {.kind = cel::Outcome::Kind::kTrue};
  }

 private:
  static cel::Outcome Error(std::string why) {
    return {.kind = cel::Outcome::Kind::kError, .error = std::move(why)};
  }
  static cel::Outcome Of(bool value) {
    return {.kind = value ? cel::Outcome::Kind::kTrue : cel::Outcome::Kind::kFalse};
  }
  static cel::Outcome MatchesTerm(const Term& term, const DeviceFacts& device) {
    if (term.kind == Term::Kind::kConstant) return Of(term.constant);
    if (term.kind == Term::Kind::kDriver) return Of(device.driver == term.text);
    const auto* value = Find(device.attributes, term.name.domain, term.name.id);
    if (value == nullptr) return Error("no such key: " + term.name.id);
    if (term.kind == Term::Kind::kText) {
      const auto* text = std::get_if<std::string>(value);
      return Of(text != nullptr && *text == term.text);
    }
    const bool* flag = std::get_if<bool>(value);
    return flag != nullptr ? Of(*flag) : Error("no bool: " + term.name.id);
  }

  const std::vector<Term> terms_;
  int* const asked_;
  cel::Reads reads_;
};

class TestEngine final : public SelectorEngine {
 public:
  StatusOr<std::unique_ptr<Selector>> Compile(std::string_view expression) override {
    ++compiled;
    std::vector<TestSelector::Term> terms;
    while (true) {
      const std::size_t end = expression.find(" && ");
      auto term = ParseTerm(expression.substr(0, end));
      if (!term) return InvalidArgument("does not compile: {}", expression);
      terms.push_back(*std::move(term));
      if (end == std::string_view::npos) break;
      expression.remove_prefix(end + 4);
    }
    return std::unique_ptr<Selector>(std::make_unique<TestSelector>(std::move(terms), &asked));
  }

  int compiled = 0;
  int asked = 0;

 private:
  using Term = TestSelector::Term;

  // `text` without `open` at its beginning; nullopt: it begins otherwise.
  static std::optional<std::string_view> After(std::string_view text, std::string_view open) {
    if (!text.starts_with(open)) return std::nullopt;
    return text.substr(open.size());
  }

  static std::optional<Term> ParseTerm(std::string_view text) {
    if (text == "true" || text == "false")
      return Term{.kind = Term::Kind::kConstant, .constant = text == "true"};
    if (const auto name = After(text, "device.driver == \""))
      return Term{.kind = Term::Kind::kDriver,
                  .text = std::string(name->substr(0, name->size() - 1))};
    const auto rest = After(text, "device.attributes[\"");
    if (!rest) return std::nullopt;
    const std::size_t close = rest->find("\"].");
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view id = rest->substr(close + 3);
    const std::size_t equals = id.find(" == \"");
    Term term{.kind = Term::Kind::kFlag,
              .name = {std::string(rest->substr(0, close)), std::string(id.substr(0, equals))}};
    if (equals == std::string_view::npos) return term;
    term.kind = Term::Kind::kText;
    term.text = std::string(id.substr(equals + 5));
    term.text.pop_back();
    return term;
  }
};

}  // namespace galen::alloc
