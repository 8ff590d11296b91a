// Writes Kubernetes Events (core/v1), one object with a count for equal events, as client-go's
// recorder does. Belongs to its loop. An event that cannot be written is dropped and logged at
// level debug, since events are optional.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/log.h"
#include "base/random.h"
#include "cluster_sim/controllers/api_calls.h"
#include "kube/objects/event.h"

namespace galen::cluster_sim {

// As Kubernetes' Event.type.
enum class EventType { kNormal, kWarning };

class EventRecorder {
 public:
  // `component` is the Events' source: "default-scheduler". The arguments outlive this; destroying
  // it cancels writes under way.
  EventRecorder(Loop& loop, kube::Client& client, Random& random, Log& log, std::string component);

  // `regarding` is the whole object it is about, with apiVersion, kind and metadata. `reason` is
  // one CamelCase word. `message` is cut to kube::kEventMessageBytesMax. Recording the same again
  // for the same object, by uid, counts the Event up instead of making another.
  void Record(const Json& regarding, EventType type, const std::string& reason,
              std::string_view message);

  // The most events that are remembered for counting; beyond it the longest unused one is dropped,
  // and would start anew.
  static constexpr std::size_t kRememberedMax = 1024;

 private:
  // By object, reason and message.
  using What = std::string;
  struct Seen {
    kube::Event event;       // as it was written last
    std::uint64_t turn = 0;  // the highest was recorded last
  };

  // Names the Event and writes it, counted from one.
  void Create(const What& what, kube::Event event);
  // Writes another occurrence.
  void Count(const What& what, Seen& seen);

  Loop& loop_;
  Random& random_;
  Log& log_;
  const std::string component_;
  std::map<What, Seen> seen_;
  std::uint64_t turn_ = 0;
  ApiCalls calls_;
};

}  // namespace galen::cluster_sim
