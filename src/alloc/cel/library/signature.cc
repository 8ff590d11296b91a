#include "alloc/cel/library/signature.h"

#include <string>
#include <utility>

#include "base/check.h"

namespace galen::alloc::cel {
namespace {

TypeKind KindNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, TypeKind> kKinds[] = {
      {"bool", TypeKind::kBool},
      {"bytes", TypeKind::kBytes},
      {"double", TypeKind::kDouble},
      {"duration", TypeKind::kDuration},
      {"dyn", TypeKind::kDyn},
      {"int", TypeKind::kInt},
      {"list", TypeKind::kList},
      {"map", TypeKind::kMap},
      {"optional", TypeKind::kOptional},
      {"quantity", TypeKind::kQuantity},
      {"semver", TypeKind::kSemver},
      {"string", TypeKind::kString},
      {"timestamp", TypeKind::kTimestamp},
      {"type", TypeKind::kType},
      {"uint", TypeKind::kUint},
  };
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
  }
  CheckFailed("a type of the table", __FILE_NAME__, __LINE__);
}

// Reads one signature from left to right.
class SignatureReader {
 public:
  SignatureReader(std::string_view text, TypePool& pool) : text_(text), pool_(pool) {}

  Signature Run() {
    Signature signature;
    Take('(');
    while (text_[at_] != ')') {
      signature.arguments.push_back(OneType());
      if (text_[at_] == ',') at_ += 2;
    }
    Take(')');
    Take(' ');
    signature.result = OneType();
    signature.variables = letters_.size();
    return signature;
  }

 private:
  void Take(char c) {
    GALEN_CHECK(text_[at_] == c);
    ++at_;
  }

  const Type* OneType() {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_.find_first_of("<>,)", at_) != at_) ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    if (name.size() == 1) return Letter(name[0]);
    if (at_ == text_.size() || text_[at_] != '<') return Simple(KindNamed(name));
    std::vector<const Type*> parameters;
    do {
      at_ += parameters.empty() ? 1 : 2;
      parameters.push_back(OneType());
    } while (text_[at_] == ',');
    Take('>');
    return pool_.Make(KindNamed(name), std::move(parameters));
  }

  const Type* Letter(char letter) {
    if (letters_.find(letter) == std::string::npos) letters_ += letter;
    return pool_.Variable(letters_.find(letter));
  }

  const std::string_view text_;
  TypePool& pool_;
  std::size_t at_ = 0;
  std::string letters_;
};

}  // namespace

Signature ParseSignature(std::string_view text, TypePool& pool) {
  return SignatureReader(text, pool).Run();
}

}  // namespace galen::alloc::cel
