#include "api_sim/objects/refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace galen::api_sim {
namespace {

std::string QualifiedResource(const Subject& subject) {
  return subject.group.empty() ? subject.plural : subject.plural + "." + subject.group;
}

// "kind" is the plural in most refusals, as in the real server's.
Json DetailsOf(const Subject& subject, const std::string& kind) {
  Json details = Json::MakeObject({});
  if (!subject.name.empty()) details["name"] = subject.name;
  if (!subject.group.empty()) details["group"] = subject.group;
  if (!kind.empty()) details["kind"] = kind;
  return details;
}

// A bad value as a fault shows it: strings in quotes, the rest as JSON.
std::string Shown(const Json& value) {
  constexpr std::size_t kShownBytesMax = 200;  // a whole object would make the message unreadable
  std::string text = value.Dump();
  return text.size() <= kShownBytesMax ? text : text.substr(0, kShownBytesMax) + "...";
}

}  // namespace

Json ToStatusObject(const Refusal& refusal) {
  Json status = Json::MakeObject({{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"metadata", Json::Object{}},
                                  {"status", "Failure"},
                                  {"message", refusal.message},
                                  {"reason", refusal.reason},
                                  {"code", refusal.code}});
  if (!refusal.details.is_null()) status["details"] = refusal.details;
  return status;
}

Refusal NotFoundRefusal(const Subject& subject) {
  return {404, "NotFound",
          fmt::format("{} \"{}\" not found", QualifiedResource(subject), subject.name),
          DetailsOf(subject, subject.plural)};
}

Refusal AlreadyExistsRefusal(const Subject& subject) {
  return {409, "AlreadyExists",
          fmt::format("{} \"{}\" already exists", QualifiedResource(subject), subject.name),
          DetailsOf(subject, subject.plural)};
}

Refusal ConflictRefusal(const Subject& subject, std::string_view why) {
  return {409, "Conflict",
          fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", QualifiedResource(subject),
                      subject.name, why),
          DetailsOf(subject, subject.plural)};
}

Refusal ForbiddenRefusal(const Subject& subject, std::string_view why) {
  std::string message = QualifiedResource(subject);
  if (!subject.name.empty()) message += fmt::format(" \"{}\"", subject.name);
  return {403, "Forbidden", fmt::format("{} is forbidden: {}", message, why),
          DetailsOf(subject, subject.plural)};
}

Refusal BadRequest(std::string message) { return {400, "BadRequest", std::move(message), {}}; }

Refusal ExpiredRefusal(std::string message) { return {410, "Expired", std::move(message), {}}; }

Refusal PlainRefusal(int code, std::string reason, std::string message) {
  return {code, std::move(reason), std::move(message), {}};
}

Fault RequiredFault(std::string field, std::string_view detail) {
  return {"FieldValueRequired", std::move(field),
          detail.empty() ? "Required value" : fmt::format("Required value: {}", detail)};
}

std::string ItemOf(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

Fault InvalidFault(std::string field, const Json& value, std::string_view detail) {
  return {"FieldValueInvalid", std::move(field),
          fmt::format("Invalid value: {}: {}", Shown(value), detail)};
}

Fault TypeFault(std::string field, const Json& value, std::string_view detail) {
  return {"FieldValueTypeInvalid", std::move(field),
          fmt::format("Invalid value: {}: {}", Shown(value), detail)};
}

Fault NotSupportedFault(std::string field, const Json& value,
                        const std::vector<std::string>& supported) {
  std::vector<std::string> quoted;
  for (const std::string& item : supported) quoted.push_back(fmt::format("\"{}\"", item));
  return {"FieldValueNotSupported", std::move(field),
          fmt::format("Unsupported value: {}: supported values: {}", Shown(value),
                      fmt::join(quoted, ", "))};
}

Fault DuplicateFault(std::string field, const Json& value) {
  return {"FieldValueDuplicate", std::move(field), "Duplicate value: " + Shown(value)};
}

Fault ForbiddenFault(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", std::move(field), fmt::format("Forbidden: {}", detail)};
}

Fault TooLongFault(std::string field, std::size_t bytes_max) {
  return {"FieldValueTooLong", std::move(field),
          fmt::format("Too long: may not be more than {} bytes", bytes_max)};
}

Fault TooManyFault(std::string field, std::size_t actual, std::size_t most) {
  return {"FieldValueTooMany", std::move(field),
          fmt::format("Too many: {}: must have at most {} items", actual, most)};
}

Refusal InvalidRefusal(const Subject& subject, const Faults& faults) {
  GALEN_CHECK(!faults.empty());
  Json causes = Json::MakeArray({});
  std::vector<std::string> sentences;
  for (const Fault& fault : faults) {
    causes.Append(Json::MakeObject(
        {{"reason", fault.reason}, {"message", fault.message}, {"field", fault.field}}));
    sentences.push_back(fault.field + ": " + fault.message);
  }
  const std::string qualified =
      subject.group.empty() ? subject.kind : subject.kind + "." + subject.group;
  const std::string why =
      sentences.size() == 1 ? sentences.front() : fmt::format("[{}]", fmt::join(sentences, ", "));
  // Here details.kind is the kind, not the plural: so it is upstream.
  Json details = DetailsOf(subject, subject.kind);
  details["causes"] = std::move(causes);
  return {422, "Invalid", fmt::format("{} \"{}\" is invalid: {}", qualified, subject.name, why),
          std::move(details)};
}

}  // namespace galen::api_sim
