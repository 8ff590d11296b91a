// Static types of expressions, and which may stand for which. Types are immutable and live in a
// pool; those without parameters are shared by all.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace galen::alloc::cel {

// What a type is of.
enum class TypeKind {
  kDyn,
  kAny,  // as dyn, but not equal to it: attributes up to Kubernetes 1.36
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kQuantity,
  kSemver,
  kDevice,
  kType,
  kList,
  kMap,
  kOptional,
  kVariable,  // stands for a type that is not known yet
};

struct Type {
  TypeKind kind = TypeKind::kDyn;
  std::vector<const Type*> parameters = {};
  std::size_t variable = 0;  // kVariable: which
};

// The type of a kind without parameters.
const Type* Simple(TypeKind kind);
// "list(string)", as cel-go writes types in its errors.
std::string ToString(const Type& type);
// Whether they are the same, parameters included.
bool AreSame(const Type& a, const Type& b);
bool IsDynamic(const Type& type);

// Makes types that live as long as it does. Belongs to one thread.
class TypePool {
 public:
  const Type* List(const Type* element) { return Make(TypeKind::kList, {element}); }
  const Type* Map(const Type* key, const Type* value) { return Make(TypeKind::kMap, {key, value}); }
  const Type* Optional(const Type* value) { return Make(TypeKind::kOptional, {value}); }
  const Type* TypeOf(const Type* type) { return Make(TypeKind::kType, {type}); }
  const Type* Variable(std::size_t which);
  const Type* Make(TypeKind kind, std::vector<const Type*> parameters);

 private:
  std::deque<Type> types_;
};

// What variables stand for, learnt from what must fit together. Belongs to one thread.
class Unifier {
 public:
  explicit Unifier(TypePool& pool) : pool_(pool) {}

  // A variable that stands for nothing yet.
  const Type* Fresh();
  // Whether `from` may stand where `to` is asked for; learns from it if so, and nothing if not.
  bool Assign(const Type* from, const Type* to);
  // The same for each pair. REQUIRES: lists of the same length.
  bool AssignAll(const std::vector<const Type*>& from, const std::vector<const Type*>& to);
  // With what is known put in; what is not becomes dyn if asked to.
  const Type* Known(const Type* type, bool unknown_is_dyn = false);
  // A signature's type, whose variables are numbered from 0, with these in their place.
  const Type* Instantiate(const Type* type, const std::vector<const Type*>& variables);
  // The more general of two that fit together.
  static const Type* MoreGeneral(const Type* a, const Type* b);

 private:
  bool Fits(const Type* from, const Type* to);
  bool FitsParameters(const Type* from, const Type* to);
  struct Substitution {
    bool valid = false;
    bool known = false;
  };
  Substitution Substitutes(const Type* type, const Type* variable);
  bool Occurs(const Type* variable, const Type* within) const;

  TypePool& pool_;
  std::vector<const Type*> meanings_;  // by variable; null: not known
};

}  // namespace galen::alloc::cel
