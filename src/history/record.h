// One thing that happened, as it is written down. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/claim.h"
#include "model/health.h"

namespace galen::history {

enum class Kind {
  kSign,             // hardware showed something
  kChange,           // a device went from one finding to another
  kKept,             // the journal has it
  kTold,             // the Pod, an Event or another object says so
  kForgotten,        // a device is no more
  kDriverConnected,  // its health stream is open
  kDriverLost,       // its socket or stream is gone
  kCrash,            // a container ended badly
  kNote,             // anything else a person should read
};
std::string_view ToString(Kind kind);  // "sign", "driver-connected"
std::optional<Kind> ParseKind(std::string_view text);

struct Record {
  std::uint64_t sequence = 0;  // given by the store, rising by one
  WallTime time{};             // when it happened
  Kind kind = Kind::kNote;
  DeviceId device;
  std::string serial;
  std::optional<HealthChange> change;  // of `device`, when kind is kChange
  std::optional<PodRef> pod;
  std::string text;      // one sentence
  std::string source;    // "gpu.example.com, report 812", "galen-agent"
  std::string incident;  // what belongs together has one
  bool operator==(const Record&) const = default;
};

// A text of a record holds at most this much.
inline constexpr std::size_t kTextBytesMax = 1024;
// A name or a code.
inline constexpr std::size_t kNameBytesMax = 253;

// The record with every text valid and every value within its bound, so that it reads back as it
// was written.
Record Bounded(Record record);

// One line of JSON; what is empty is left out. REQUIRES: Bounded.
std::string Encode(const Record& record);
StatusOr<Record> Decode(std::string_view line);

}  // namespace galen::history
