// Errors of the world as values: a code that says what to do about it, and a sentence. Free of
// threads. Codes are those of gRPC, so that a status crosses a wire unchanged.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace galen {

// Numbers as on the wire: https://grpc.github.io/grpc/core/md_doc_statuscodes.html
enum class Code {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// The name as gRPC's documents write it, without the k: "InvalidArgument".
std::string_view ToString(Code code);

// Success, or a code and a sentence. The sentence has no capital, no full stop and no "failed to":
// it is read as a chain of causes from left to right.
class [[nodiscard]] Status {
 public:
  // OK.
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  bool operator==(const Status&) const = default;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// "OK", or the code's name and the sentence.
std::string ToString(const Status& status);

inline Status OkStatus() { return {}; }

// One maker for each code that we give, named for what the receiver should do. The sentence is
// formatted by fmt. Unavailable, Aborted, DeadlineExceeded, ResourceExhausted: try again later.
// NotFound, AlreadyExists: usually a success after a look. InvalidArgument, FailedPrecondition,
// PermissionDenied, Unauthenticated, Unimplemented: a person has to act. Internal: a bug. DataLoss:
// data that was kept or received is broken or incomplete.
template <typename... Args>
Status Cancelled(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kCancelled, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status DeadlineExceeded(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kDeadlineExceeded, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kNotFound, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status AlreadyExists(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kAlreadyExists, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status PermissionDenied(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kPermissionDenied, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status ResourceExhausted(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kResourceExhausted, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status FailedPrecondition(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kFailedPrecondition, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status Aborted(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kAborted, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status Unimplemented(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kUnimplemented, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status Internal(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kInternal, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status Unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kUnavailable, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status DataLoss(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kDataLoss, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Status Unauthenticated(fmt::format_string<Args...> format, Args&&... args) {
  return {Code::kUnauthenticated, fmt::format(format, std::forward<Args>(args)...)};
}

// Puts what we were doing in front of what went wrong; keeps the code.
template <typename... Args>
Status Annotate(const Status& status, fmt::format_string<Args...> format, Args&&... args) {
  if (status.ok()) return status;
  return {status.code(), fmt::format("{}: {}", fmt::format(format, std::forward<Args>(args)...),
                                     status.message())};
}

// The system's answer to a call, from errno: "open /a/b: No such file or directory". `what` says
// what was asked, with the path. The code is by what can be done about it (status.cc); one that we
// have no rule for is Unknown.
Status ErrnoStatus(int error, std::string_view what);

// Whether doing the same again later can help. Everything else needs a person or a look. The one
// place where this is decided: queues, watches and streams all ask here.
bool IsRetryable(const Status& status);

// A value, or why there is none. Never holds an OK status.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    GALEN_CHECK(!status_.ok());
  }
  StatusOr(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  // OK when there is a value.
  const Status& status() const { return status_; }

  // REQUIRES, for all that follow: ok(). Reading an error as a value ends the process.
  const T& value() const& {
    GALEN_CHECK(ok());
    return *value_;
  }
  T& value() & {
    GALEN_CHECK(ok());
    return *value_;
  }
  T&& value() && {
    GALEN_CHECK(ok());
    return *std::move(value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

#define GALEN_CONCAT_INNER(a, b) a##b
#define GALEN_CONCAT(a, b) GALEN_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` is not OK. Evaluates it once.
#define RETURN_IF_ERROR(expression)                                            \
  do {                                                                         \
    if (::galen::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// Declares or assigns `left` from a StatusOr, or returns its status. Two statements: not for the
// body of an `if` without braces.
#define ASSIGN_OR_RETURN(left, expression) \
  ASSIGN_OR_RETURN_INNER(GALEN_CONCAT(status_or_, __LINE__), left, expression)
#define ASSIGN_OR_RETURN_INNER(holder, left, expression) \
  auto holder = (expression);                            \
  if (!holder.ok()) return holder.status();              \
  left = std::move(holder).value()

}  // namespace galen
