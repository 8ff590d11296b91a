// A refusal of the API in Kubernetes' form: a metav1.Status with code, reason, message and details.
// Values; free of threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/data/json.h"

namespace galen::api_sim {

// A client's error answer: `code` is the HTTP status, `reason` one of metav1.StatusReason, on which
// programs act, `message` is for people.
struct Refusal {
  int code = 500;
  std::string reason;
  std::string message;
  Json details;  // null or an object: name, group, kind, uid, causes, retryAfterSeconds

  bool operator==(const Refusal&) const = default;
};

// The response body: {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",…}
Json ToStatusObject(const Refusal& refusal);

// A value, or the refusal; works with ASSIGN_OR_RETURN as StatusOr does. Not a StatusOr, since
// clients need Kubernetes' reasons and details, which our codes lack. Reading the value of a
// refusal crashes.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(Refusal refusal) : refusal_(std::move(refusal)) {}  // NOLINT(google-explicit-constructor)
  Outcome(T value) : value_(std::move(value)) {}              // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Refusal& status() const { return refusal_; }
  const T& value() const& { return Checked(), *value_; }
  T&& value() && { return Checked(), *std::move(value_); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }

 private:
  void Checked() const { GALEN_CHECK(ok()); }

  Refusal refusal_;
  std::optional<T> value_;
};

// The subject of a refusal: "pods" of group "", kind "Pod", and an object's name or "".
struct Subject {
  std::string group;
  std::string plural;
  std::string kind;
  std::string name;
};

// 404, with the message that client-go and kubectl recognise.
Refusal NotFoundRefusal(const Subject& subject);
// 409 with reason AlreadyExists.
Refusal AlreadyExistsRefusal(const Subject& subject);
// 409 with reason Conflict: another writer changed the object in between, or a precondition does
// not hold. Clients read anew and try again.
Refusal ConflictRefusal(const Subject& subject, std::string_view why);
// 403: missing rights, or a rule that holds for everybody.
Refusal ForbiddenRefusal(const Subject& subject, std::string_view why);
// 400: the request is invalid, whatever is stored.
Refusal BadRequest(std::string message);
// 410: the requested version is older than the history. Clients list anew.
Refusal ExpiredRefusal(std::string message);
// Any other refusal, without details.
Refusal PlainRefusal(int code, std::string reason, std::string message);
// The message of a conflict of versions, exactly upstream's OptimisticLockErrorMsg.
inline constexpr std::string_view kObjectModified =
    "the object has been modified; please apply your changes to the latest version and try again";

// One field that is wrong. `reason` is a cause type of metav1.Status: FieldValueInvalid and its
// like.
struct Fault {
  std::string reason;
  std::string field;  // "spec.containers[0].name"
  std::string message;

  bool operator==(const Fault&) const = default;
};
using Faults = std::vector<Fault>;

// The path of a list's item: "spec.containers[2]".
std::string ItemOf(const std::string& path, std::size_t index);

// The kinds of k8s.io/apimachinery's field.Error, with its messages. `field` is a path such as
// "spec.containers[0].name"; a value is shown as JSON and cut.
Fault RequiredFault(std::string field, std::string_view detail = "");
Fault InvalidFault(std::string field, const Json& value, std::string_view detail);
Fault TypeFault(std::string field, const Json& value, std::string_view detail);
Fault NotSupportedFault(std::string field, const Json& value,
                        const std::vector<std::string>& supported);
Fault DuplicateFault(std::string field, const Json& value);
Fault ForbiddenFault(std::string field, std::string_view detail);
Fault TooLongFault(std::string field, std::size_t bytes_max);
Fault TooManyFault(std::string field, std::size_t actual, std::size_t most);

// 422 with every fault as a cause. REQUIRES: some fault.
Refusal InvalidRefusal(const Subject& subject, const Faults& faults);

}  // namespace galen::api_sim
