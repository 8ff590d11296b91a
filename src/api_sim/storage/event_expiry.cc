#include "api_sim/storage/event_expiry.h"

#include "api_sim/objects/object_meta.h"

namespace galen::api_sim {
namespace {

constexpr const char* kEvents = "/events";

}  // namespace

EventExpiry::EventExpiry(Loop& loop, ObjectStore& store) : loop_(loop), store_(store) {
  for (const Snapshot& event : store_.List(kEvents, ""))
    Add(KeyOf(*event), ResourceVersionOf(*event));
  store_.AddListener([this](const std::string& collection, const Change& change) {
    if (collection == kEvents && change.after != nullptr) Add(change.key, change.version);
  });
}

void EventExpiry::Add(const ObjectKey& key, std::uint64_t version) {
  written_.push_back({loop_.Now() + kTimeToLive, key, version});
  // Not from inside a store's change, since the removal is a change itself.
  if (written_.size() == kEventsMax + 1) written_.front().due = loop_.Now();
  if (written_.size() == 1 || written_.size() > kEventsMax) SetTimer();
}

void EventExpiry::RemoveDue() {
  while (!written_.empty() &&
         (written_.front().due <= loop_.Now() || written_.size() > kEventsMax)) {
    const Written oldest = written_.front();
    written_.pop_front();
    const Snapshot event = store_.Get(kEvents, oldest.key);
    // The Event was written again since: a later entry of the queue covers it.
    if (event != nullptr && ResourceVersionOf(*event) == oldest.version)
      store_.Remove(kEvents, oldest.key);
  }
  if (!written_.empty()) SetTimer();
}

void EventExpiry::SetTimer() {
  timer_ = loop_.At(written_.front().due, [this] { RemoveDue(); });
}

}  // namespace galen::api_sim
