// What tests of selectors share: a device with an attribute of each kind, and the result of an
// expression for it as "true", "false" or "error". Any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/cel/program.h"
#include "alloc/device_facts.h"

namespace galen::alloc::cel {

// Its driver is d.io; another domain is other.io.
inline DeviceFacts TestDevice() {
  DeviceFacts device{.driver = "d.io"};
  const SemanticVersion version = ParseSemanticVersion("1.2.3-rc.1+build").value();
  device.attributes = {
      {{"d.io", "b"}, true},
      {{"d.io", "exists"}, true},
      {{"d.io", "i"}, std::int64_t{7}},
      {{"d.io", "ints"}, std::vector<std::int64_t>{1, 7}},
      {{"d.io", "model-name"}, std::string("NVIDIA H100 80GB HBM3")},
      {{"d.io", "s"}, std::string("A100-80GB")},
      {{"d.io", "strings"}, std::vector<std::string>{"a", "b"}},
      {{"d.io", "v"}, version},
      {{"d.io", "versions"}, std::vector<SemanticVersion>{version}},
      {{"other.io", "numa"}, std::int64_t{1}},
  };
  device.capacity = {
      {{"d.io", "cores"}, Quantity::Parse("100m").value()},
      {{"d.io", "mem"}, Quantity::Parse("10Gi").value()},
  };
  return device;
}

// "true", "false", "error", "refused" (it does not compile) or "unsupported".
inline std::string Answer(std::string_view expression, int minor = 37) {
  const auto program = Program::Compile(expression, {.minor = minor});
  if (!program.ok()) {
    return program.status().code() == Code::kUnimplemented ? "unsupported" : "refused";
  }
  switch (program->Matches(TestDevice()).kind) {
    case Outcome::Kind::kTrue:
      return "true";
    case Outcome::Kind::kFalse:
      return "false";
    case Outcome::Kind::kError:
      return "error";
  }
  return "";
}

// The reason for not compiling, or for an error.
inline std::string Reason(std::string_view expression, int minor = 37) {
  const auto program = Program::Compile(expression, {.minor = minor});
  if (!program.ok()) return program.status().message();
  return program->Matches(TestDevice()).error;
}

}  // namespace galen::alloc::cel
