// Writes Kubernetes Events (core/v1), one object for equal ones with a count, as client-go's
// recorder does. Belongs to its loop. An event that cannot be written is dropped and logged at
// debug: nothing may depend on it.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "cluster_sim/controllers/api_calls.h"

namespace galen::cluster_sim {

enum class EventType { kNormal, kWarning };

class EventRecorder {
 public:
  // `component` is who says it: "default-scheduler". What is lent outlives this; destroying it
  // gives up what is under way.
  EventRecorder(Loop& loop, kube::Client& client, Random& random, Log& log, std::string component);

  // `regarding` is the whole object it is about, with apiVersion, kind and metadata. `reason` is
  // one CamelCase word. `message` is cut to kMessageBytesMax. Saying the same again about the same
  // object, by uid, counts the Event up instead of making another.
  void Record(const Json& regarding, EventType type, const std::string& reason,
              std::string_view message);

  // What events.k8s.io/v1 takes of a note: 1 kB.
  static constexpr std::size_t kMessageBytesMax = 1024;
  // Events remembered for counting; past it the one not said for longest starts anew.
  static constexpr std::size_t kRememberedMax = 1024;

 private:
  // An Event that was made; `count` is how often it was said.
  struct Seen {
    std::string ns;
    std::string name;
    int count = 0;
    std::list<std::string>::iterator age;
  };

  void Create(const Json& regarding, EventType type, const std::string& reason,
              const std::string& message, const Seen& seen);
  // Writes the count. The server forgets events after a while: `on_expired` when this one is gone.
  void Count(const Seen& seen, std::function<void()> on_expired);
  // What is said next counts from one again.
  void Forget(const std::string& what);
  Seen& Remember(const std::string& what, const Json& regarding);

  Loop& loop_;
  Random& random_;
  Log& log_;
  const std::string component_;
  std::map<std::string, Seen> seen_;  // by object, reason and message
  // Keys of seen_; each entry knows its place here.
  std::list<std::string> oldest_first_;
  ApiCalls calls_;
};

}  // namespace galen::cluster_sim
