// What was looked at: a value, or why there is none. Values; free of threads.
#pragma once

#include <utility>

#include "base/status.h"

namespace galen::doctor {

// Begins as "not looked at". What could not be read is neither good nor bad: a check that needs it
// says Unknown and gives the status' sentence as its reason.
template <typename T>
class Seen : public StatusOr<T> {
 public:
  Seen() : StatusOr<T>(Status(Code::kUnknown, "not looked at")) {}
  Seen(Status why) : StatusOr<T>(std::move(why)) {}  // NOLINT(google-explicit-constructor)
  Seen(T value) : StatusOr<T>(std::move(value)) {}   // NOLINT(google-explicit-constructor)
  Seen(StatusOr<T> answer) : StatusOr<T>(std::move(answer)) {}  // NOLINT
};

}  // namespace galen::doctor
