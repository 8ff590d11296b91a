// Writes Kubernetes Events, one object for equal ones with a count. Belongs to its loop. An event
// that cannot be written is dropped and logged: nothing may depend on it.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "cluster_sim/api_calls.h"

namespace galen::cluster_sim {

enum class EventType { kNormal, kWarning };

class EventRecorder {
 public:
  // `component` is who says it: "default-scheduler".
  EventRecorder(Loop& loop, kube::Client& client, Random& random, Log& log, std::string component);

  // `regarding` is the whole object it is about. Cut to kMessageBytesMax.
  void Record(const Json& regarding, EventType type, const std::string& reason,
              std::string_view message);

  static constexpr std::size_t kMessageBytesMax = 1024;
  // Events remembered for counting; past it the oldest starts anew.
  static constexpr std::size_t kRememberedMax = 1024;

 private:
  struct Seen {
    std::string ns;
    std::string name;
    int count = 0;
    std::list<std::string>::iterator age;
  };

  void Create(const Json& regarding, EventType type, const std::string& reason,
              const std::string& message, const Seen& seen);
  // The server forgets events after a while: `on_expired` when this one is gone.
  void Count(const Seen& seen, std::function<void()> on_expired);
  void Forget(const std::string& what);
  Seen& Remember(const std::string& what, const Json& regarding);

  Loop& loop_;
  Random& random_;
  Log& log_;
  const std::string component_;
  std::map<std::string, Seen> seen_;  // by object, reason and message
  std::list<std::string> oldest_first_;
  ApiCalls calls_;
};

}  // namespace galen::cluster_sim
