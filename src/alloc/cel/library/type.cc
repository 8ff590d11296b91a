#include "alloc/cel/library/type.h"

#include <algorithm>
#include <array>

namespace galen::alloc::cel {
namespace {

std::string_view NameOf(TypeKind kind) {
  switch (kind) {
    case TypeKind::kDyn:
      return "dyn";
    case TypeKind::kAny:
      return "any";
    case TypeKind::kNull:
      return "null";
    case TypeKind::kBool:
      return "bool";
    case TypeKind::kInt:
      return "int";
    case TypeKind::kUint:
      return "uint";
    case TypeKind::kDouble:
      return "double";
    case TypeKind::kString:
      return "string";
    case TypeKind::kBytes:
      return "bytes";
    case TypeKind::kTimestamp:
      return "timestamp";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kQuantity:
      return "kubernetes.Quantity";
    case TypeKind::kSemver:
      return "kubernetes.Semver";
    case TypeKind::kDevice:
      return "kubernetes.DRADevice";
    case TypeKind::kType:
      return "type";
    case TypeKind::kList:
      return "list";
    case TypeKind::kMap:
      return "map";
    case TypeKind::kOptional:
      return "optional_type";
    case TypeKind::kVariable:
      return "dyn";
  }
  return "";
}

// A value of these may be null, by a rule older than the type checker.
bool TakesNull(TypeKind kind) {
  switch (kind) {
    case TypeKind::kNull:
    case TypeKind::kTimestamp:
    case TypeKind::kDuration:
    case TypeKind::kQuantity:
    case TypeKind::kSemver:
    case TypeKind::kDevice:
    case TypeKind::kOptional:
      return true;
    default:
      return false;
  }
}

bool IsAsGeneral(const Type& a, const Type& b) {
  if (IsDynamic(a) || a.kind == TypeKind::kVariable) return true;
  if (IsDynamic(b) || b.kind == TypeKind::kVariable || a.kind != b.kind) return false;
  if (a.kind == TypeKind::kType) return true;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    if (!IsAsGeneral(*a.parameters[i], *b.parameters[i])) return false;
  }
  return true;
}

}  // namespace

const Type* Simple(TypeKind kind) {
  static const auto kTypes = [] {
    std::array<Type, static_cast<std::size_t>(TypeKind::kVariable)> types;
    for (std::size_t i = 0; i < types.size(); ++i) types[i].kind = static_cast<TypeKind>(i);
    return types;
  }();
  return &kTypes[static_cast<std::size_t>(kind)];
}

std::string ToString(const Type& type) {
  std::string text(NameOf(type.kind));
  for (std::size_t i = 0; i < type.parameters.size(); ++i) {
    text += (i == 0 ? "(" : ", ") + ToString(*type.parameters[i]);
  }
  return type.parameters.empty() ? text : text + ")";
}

bool AreSame(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.variable != b.variable) return false;
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(),
                    [](const Type* x, const Type* y) { return AreSame(*x, *y); });
}

bool IsDynamic(const Type& type) {
  return type.kind == TypeKind::kDyn || type.kind == TypeKind::kAny;
}

const Type* TypePool::Make(TypeKind kind, std::vector<const Type*> parameters) {
  return &types_.emplace_back(Type{.kind = kind, .parameters = std::move(parameters)});
}

const Type* TypePool::Variable(std::size_t which) {
  return &types_.emplace_back(Type{.kind = TypeKind::kVariable, .variable = which});
}

const Type* Unifier::Fresh() {
  meanings_.push_back(nullptr);
  return pool_.Variable(meanings_.size() - 1);
}

bool Unifier::Assign(const Type* from, const Type* to) { return AssignAll({from}, {to}); }

bool Unifier::AssignAll(const std::vector<const Type*>& from, const std::vector<const Type*>& to) {
  const std::vector<const Type*> before = meanings_;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (Fits(from[i], to[i])) continue;
    meanings_ = before;
    return false;
  }
  return true;
}

const Type* Unifier::Known(const Type* type, bool unknown_is_dyn) {
  if (type->kind == TypeKind::kVariable) {
    const Type* meaning = meanings_[type->variable];
    if (meaning != nullptr) return Known(meaning, unknown_is_dyn);
    return unknown_is_dyn ? Simple(TypeKind::kDyn) : type;
  }
  if (type->parameters.empty()) return type;
  std::vector<const Type*> known;
  for (const Type* parameter : type->parameters) known.push_back(Known(parameter, unknown_is_dyn));
  return pool_.Make(type->kind, std::move(known));
}

const Type* Unifier::Instantiate(const Type* type, const std::vector<const Type*>& variables) {
  if (type->kind == TypeKind::kVariable) return variables[type->variable];
  if (type->parameters.empty()) return type;
  std::vector<const Type*> parameters;
  for (const Type* parameter : type->parameters) {
    parameters.push_back(Instantiate(parameter, variables));
  }
  return pool_.Make(type->kind, std::move(parameters));
}

const Type* Unifier::MoreGeneral(const Type* a, const Type* b) {
  return IsAsGeneral(*a, *b) ? a : b;
}

bool Unifier::FitsParameters(const Type* from, const Type* to) {
  for (std::size_t i = 0; i < from->parameters.size(); ++i) {
    if (!Fits(from->parameters[i], to->parameters[i])) return false;
  }
  return true;
}

bool Unifier::Fits(const Type* from, const Type* to) {
  if (to->kind == TypeKind::kVariable) {
    const Substitution substitution = Substitutes(from, to);
    if (substitution.valid) return true;
    if (substitution.known) return false;
  }
  if (from->kind == TypeKind::kVariable) return Substitutes(to, from).valid;
  if (IsDynamic(*from) || IsDynamic(*to)) return true;
  if (from->kind == TypeKind::kNull) return TakesNull(to->kind);
  if (to->kind == TypeKind::kNull) return TakesNull(from->kind);
  if (from->kind != to->kind) return false;
  return from->kind == TypeKind::kType || FitsParameters(from, to);
}

Unifier::Substitution Unifier::Substitutes(const Type* type, const Type* variable) {
  if (AreSame(*type, *variable)) return {.valid = true, .known = true};
  if (const Type* meaning = meanings_[variable->variable]) {
    if (AreSame(*type, *meaning)) return {.valid = true, .known = true};
    if (!Fits(type, meaning)) return {.known = true};
    const Type* general = MoreGeneral(type, meaning);
    if (!Occurs(variable, general)) meanings_[variable->variable] = general;
    return {.valid = true, .known = true};
  }
  if (Occurs(variable, type)) return {};
  meanings_[variable->variable] = type;
  return {.valid = true};
}

bool Unifier::Occurs(const Type* variable, const Type* within) const {
  if (AreSame(*variable, *within)) return true;
  if (within->kind == TypeKind::kVariable) {
    const Type* meaning = meanings_[within->variable];
    return meaning != nullptr && Occurs(variable, meaning);
  }
  return std::any_of(within->parameters.begin(), within->parameters.end(),
                     [&](const Type* parameter) { return Occurs(variable, parameter); });
}

}  // namespace galen::alloc::cel
