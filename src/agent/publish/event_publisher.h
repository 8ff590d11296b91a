// Events on Pods, one per transition of a device they hold. Equal transitions of a flapping device
// are one Event with a count; a Pod with many changes gets fewer, larger ones; what an unavailable
// API server missed is written, merged, when it is back. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api_edges.h"
#include "base/loop/work_queue.h"
#include "kube/objects/event.h"
#include "model/claim.h"
#include "model/health.h"

namespace galen::agent {

// Why an Event was written. Reasons are what people filter by, stable over releases, and what the
// admission policies of deploy/ let an agent write: a new reason must be added there as well.
enum class EventReason {
  kDeviceRecovered,
  kDeviceUnknown,
  kDeviceDegraded,
  kDeviceUnhealthy,
  kPostMortem,
  // Only managers write the reasons from here on. Like the kubelet's own, so that tools that know
  // those find ours.
  kFailedPrepare,
  kFailedUnprepare,
  kFailedCreateContainer,
  kContainersAreProcesses,
};
inline constexpr EventReason kFirstManagerReason = EventReason::kFailedPrepare;
inline constexpr EventReason kLastEventReason = EventReason::kContainersAreProcesses;

// As an Event has it: "DeviceUnhealthy".
std::string_view ToString(EventReason reason);

// An agent that was killed may have written an Event and lost the record of that. The next agent
// publishes it again, and must not count the occurrence twice if it finds that Event. How it
// recognises it:
enum class KnownBy {
  kNothing,  // it cannot: it is counted as another occurrence
  kMessage,  // the message is equal: it says when it happened
  kSubject,  // the Event is about the same object, to which it happens only once
};

// What an Event says, as an operator reads it in `kubectl describe pod`.
struct EventText {
  bool warning = true;  // else Normal
  EventReason reason = EventReason::kDeviceUnknown;
  std::string message;
  KnownBy known_by = KnownBy::kNothing;

  bool operator==(const EventText&) const = default;
};

// The Event of a change, or nullopt when it deserves none: the first report of a healthy device, or
// a new sentence for the same state and code. Recovery is Normal, everything else a Warning. Pure.
std::optional<EventText> EventOf(const HealthChange& change);

// The Warning for a device that is not healthy when a Pod gets it; nullopt for a healthy one, and
// for one that was never reported. Pure.
std::optional<EventText> EventOfAssignment(const DeviceHealth& health);

// Events are optional beside the Pod's own status: one that is refused is dropped. Events are named
// after Pod, reason and subject, so an agent that restarts continues the count.
class EventPublisher {
 public:
  // Series that are remembered; past it the one that happened longest ago is let go, written or
  // not, those of which somebody waits for the end last. On the API server it stays.
  static constexpr std::size_t kSeriesMax = 1024;
  // A series is written at once, then after this and each time twice as long, up to the most: a
  // device that flaps for a day costs some 1,500 writes.
  static constexpr Duration kGather = std::chrono::seconds(1);
  static constexpr Duration kGatherMost = std::chrono::minutes(1);

  using Edges = ApiEdges;

  EventPublisher(Edges edges, std::string node);

  using OnEnd = std::function<void(bool written)>;

  // It happened once more, now. `subject` separates the series of a Pod: the device, or what else
  // it is about. The latest message is the one that is shown. `on_end` is called once: with true
  // when the API server has it or refused it for good, with false when it was let go unwritten to
  // make room, perhaps inside another's Publish; never where the agent ends before that.
  void Publish(const PodRef& pod, const std::string& subject, const EventText& text,
               OnEnd on_end = nullptr);
  // For the end of the process: nothing is gathered from here on.
  void Flush();
  // Whether all is written.
  bool idle() const;
  // The Pod is gone: its series go as soon as they are written. A later Publish for it continues
  // the count of its stored Event.
  void Forget(const PodRef& pod);
  // Series that are remembered now.
  std::size_t remembered() const { return series_.size(); }

 private:
  // kRead: the Event exists already, so its count is read before it is increased.
  enum class Step { kCreate, kRead, kCount };
  using Done = WorkQueue<ObjectKey>::Done;
  struct Series {
    kube::Event event;                  // as it should be once all is written
    int unwritten = 0;                  // how often it happened since the last write
    std::optional<kube::Event> stored;  // as the server has it
    Duration gap = kGather;             // to the next write
    bool forgotten = false;             // to be dropped once it is written
    bool maybe_made = false;            // its creation was sent, and the answer was lost
    EventText first;                    // the text that began the series
    // Not before this; the epoch until the first write, so a new series is written at once.
    Time next_write{};
    Timer later;
    std::vector<OnEnd> on_end;
  };

  void Reconcile(const ObjectKey& key, Done done);
  void Ask(const ObjectKey& key, Step step, kube::Event sent, net::HttpRequest request, Done done);
  void Conclude(Series& series, Step step, const kube::Event& sent, const StatusOr<Json>& reply,
                Done done);
  // Takes an Event that exists already, made by an earlier agent or by a request of ours:
  // occurrences of ours that it counts are not written again.
  void TakeStored(Series& series, kube::Event stored);
  void Written(Series& series, const kube::Event& sent);
  static void CallIfAllIsWritten(Series& series);
  Series& SeriesOf(const PodRef& pod, const std::string& subject, const EventText& text);
  void MakeRoom();
  // Drops a forgotten series once nothing of it is left to write.
  void LetGo(const ObjectKey& key);

  Edges edges_;
  const std::string node_;
  std::map<ObjectKey, Series> series_;  // by the Event's own name
  // Kept apart from the series, which may be let go while it is written.
  std::map<ObjectKey, std::unique_ptr<net::HttpCall>> calls_;
  bool gathers_ = true;
  bool refused_ = false;  // the last answer was a refusal, and that was logged
  WorkQueue<ObjectKey> queue_;
};

}  // namespace galen::agent
