// One thing that happened, as it is written down: a value, and its form as one line of JSON. Pure.
// Records are never changed once written; what they mean together (the health of a device, the
// story of a Pod) the Store works out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/claim.h"
#include "model/health.h"

namespace galen::history {

// The steps on the way of a fault, and what surrounds it. Written by name (ToString), so the order
// here is free.
enum class Kind {
  kSign,             // hardware showed something
  kChange,           // a device went from one finding to another
  kKept,             // the journal has it
  kAssigned,         // a Pod was given the device
  kPublished,        // on the Pod, in an Event or on another object
  kForgotten,        // a device is no more
  kDriverConnected,  // its health stream is open
  kDriverLost,       // its socket or stream is gone
  kAgentStarted,     // so reports are counted anew, and drivers were connected to once more
  kAgentStopped,     // in order; not written when it is killed
  kCrash,            // a container ended badly
  kNote,             // anything else a person should read
};
std::string_view ToString(Kind kind);  // "sign", "driver-connected"
// Exact; nullopt for a kind that this version does not know.
std::optional<Kind> ParseKind(std::string_view text);

// Members that do not apply are empty and are not written.
struct Record {
  // Given by the store, from 1, rising by one over all restarts. Unlike times it gives the order of
  // writing.
  std::uint64_t sequence = 0;
  WallTime time{};  // when it happened, not when it was written
  Kind kind = Kind::kNote;
  // All empty: of no single device, as with a crash of a container.
  DeviceId device;
  std::string serial;
  std::optional<HealthChange> change;  // of `device`, when kind is kChange
  std::optional<PodRef> pod;
  std::string text;    // one sentence
  std::string source;  // "gpu.example.com, report 812", "galen-agent"
  bool late = false;   // kKept: Pods were written before, as the disk did not write
  // Shared by records that belong together: from a device's first bad finding to its recovery. Made
  // by the agent; opaque here.
  std::string incident;
  bool operator==(const Record&) const = default;
};

// A text of a record holds at most this much: as long as a message that Kubernetes takes on a Pod.
inline constexpr std::size_t kTextBytesMax = 1024;
// A name or a code: the longest name that Kubernetes has, a DNS subdomain's.
inline constexpr std::size_t kNameBytesMax = 253;

// The record with every text valid UTF-8 and within its bound (longer ones are cut at a code point
// and end in "..."), every time within the years 1678 to 2261 and every share a finite number, so
// that it reads back as it was written. Both healths of a change get the record's device.
Record Bounded(Record record);

// One line of JSON without a newline; what is empty is left out. REQUIRES: Bounded, with a
// sequence.
std::string Encode(const Record& record);
// The reverse of Encode; members that are not known are skipped, for a later version may have
// written them. An error when the line is not JSON, when a time cannot be read, or (DataLoss) when
// kind, state or sequence are missing or unknown. Texts are not bounded again.
StatusOr<Record> Decode(std::string_view line);

}  // namespace galen::history
