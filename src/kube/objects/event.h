// A core/v1 Event: what happened to an object, for `kubectl describe` and `kubectl events`. Its
// name is made of what it is about, so that the same thing happening again finds the Event of the
// time before and counts it up instead of making another one, over restarts too. Values and pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kube/objects/meta.h"

namespace galen::kube {

// The object that an Event is about (involvedObject).
struct EventSubject {
  std::string api_version = "v1";
  std::string kind = {};  // "Pod", "Node"
  ObjectKey key = {};
  std::string uid = {};
  bool operator==(const EventSubject&) const = default;
};

struct Event {
  ObjectKey key = {};
  std::string resource_version = {};  // "" in one that is to be made
  EventSubject subject = {};
  bool warning = false;        // else Normal
  std::string reason = {};     // "DeviceUnhealthy"
  std::string message = {};    // a sentence
  std::string component = {};  // "galen-agent"
  std::string host = {};       // the reporting node
  // How often it happened, from `first` to `last`, whole seconds in the object.
  int count = 1;
  WallTime first{};
  WallTime last{};
  bool operator==(const Event&) const = default;
};

// kube-apiserver's bound for an event's note (NoteLengthLimit in its validation of events.k8s.io).
inline constexpr std::size_t kEventMessageBytesMax = 1024;

// Where Events about `subject` live: "default" for a subject without a namespace.
std::string EventNamespace(const EventSubject& subject);

// The key of the one Event of `subject` for `reason`; `about` distinguishes several of one reason,
// e.g. a device.
ObjectKey EventKey(const EventSubject& subject, std::string_view reason, std::string_view about);

// The whole object; a message past the bound is cut.
Json EncodeEvent(const Event& event);
// InvalidArgument when its metadata is broken; a missing count is 1. Takes Events of either API.
StatusOr<Event> DecodeEvent(const Json& object);

// The same Event `times` more, the last of them at `last`: counted, with its newest message.
Event Again(Event event, int times, std::string_view message, WallTime last);

// The merge patch that turns the stored `before` into `after`, which Again made of it. It carries
// no resourceVersion: of two writers the later one counts.
Json EventPatch(const Event& before, const Event& after);

}  // namespace galen::kube
