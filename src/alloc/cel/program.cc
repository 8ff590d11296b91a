#include "alloc/cel/program.h"

#include <algorithm>

#include "alloc/cel/checker.h"
#include "alloc/cel/evaluator.h"
#include "alloc/cel/parser.h"
#include "alloc/cel/planner.h"
#include "alloc/cel/values/arena.h"

namespace galen::alloc::cel {

struct Program::Impl {
  std::string text;
  ExpressionPointer expression;
  // What the expression's constants refer to.
  Arena constants;
  Plan plan;
};

namespace {

// Upstream converts all attributes before it evaluates, and fails on what it cannot.
const QualifiedName* FindUnknownKind(const DeviceFacts& device) {
  for (const auto& [name, value] : device.attributes) {
    if (std::holds_alternative<UnknownKind>(value)) return &name;
  }
  return nullptr;
}

Outcome Failed(std::string_view error) {
  return {.kind = Outcome::Kind::kError, .error = std::string(error)};
}

// Upstream takes a bool out of an optional.
const Value& Unwrapped(const Value& value) {
  const bool wrapped = value.is(Kind::kOptional) && value.optional() != nullptr;
  return wrapped ? Unwrapped(*value.optional()) : value;
}

Outcome OutcomeOf(const Value& result, const Arena& arena) {
  const Value& value = Unwrapped(result);
  if (arena.cost() > kCostMax) return Failed("actual cost limit exceeded");
  if (value.is(Kind::kBool) && !arena.over()) {
    return {.kind = value.boolean() ? Outcome::Kind::kTrue : Outcome::Kind::kFalse};
  }
  if (arena.over()) return Failed("the evaluation takes too much memory or time");
  if (value.IsError()) return Failed(value.text());
  return Failed(fmt::format("a result of type {} is no bool", TypeNameOf(value)));
}

}  // namespace

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

StatusOr<Program> Program::Compile(std::string_view text, Environment environment) {
  if (text.size() > kExpressionLengthMax) {
    return InvalidArgument("an expression of {} bytes, at most {} are allowed", text.size(),
                           kExpressionLengthMax);
  }
  auto impl = std::make_unique<Impl>();
  impl->text = std::string(text);
  ASSIGN_OR_RETURN(impl->expression, Parse(text));
  TypePool types;
  RETURN_IF_ERROR(CheckSelector(*impl->expression, environment, types));
  ASSIGN_OR_RETURN(impl->plan, MakePlan(impl->expression, impl->constants));
  return Program(std::move(impl));
}

const std::string& Program::text() const { return impl_->text; }

const Reads& Program::reads() const { return impl_->plan.reads; }

Outcome Program::Matches(const DeviceFacts& device) const {
  if (const QualifiedName* unknown = FindUnknownKind(device)) {
    return Failed(fmt::format("attribute {}: unsupported attribute value", ToString(*unknown)));
  }
  Arena arena;
  const Value value = Evaluate(*impl_->expression, device, impl_->plan.slots, arena);
  Outcome outcome = OutcomeOf(value, arena);
  outcome.work = std::min(arena.cost(), kCostMax) + arena.steps();
  return outcome;
}

std::uint64_t Program::Cost(const DeviceFacts& device) const {
  Arena arena;
  Evaluate(*impl_->expression, device, impl_->plan.slots, arena);
  return arena.cost();
}

}  // namespace galen::alloc::cel
