#include "api_sim/storage/watch_hub.h"

#include <fmt/format.h>

#include <algorithm>

namespace galen::api_sim {
namespace {

std::string Line(std::string_view type, Json object) {
  return Json::MakeObject({{"type", type}, {"object", std::move(object)}}).Dump() + "\n";
}

// Whether the watcher selects this state of the object; false for null.
bool Concerns(const WatchHub::Spec& spec, const ObjectKey& key, const Snapshot& object) {
  return object != nullptr && (spec.ns.empty() || spec.ns == key.ns) &&
         spec.selection.Matches(*object);
}

// An object that leaves the selection is shown with its last selected state, at the version at
// which it left.
Json LastSeen(const Change& change) {
  Json object = *change.before;
  object["metadata"]["resourceVersion"] = std::to_string(change.version);
  return object;
}

}  // namespace

WatchHub::WatchHub(Loop& loop, ObjectStore& store) : loop_(loop), store_(store) {
  store_.AddListener([this](const std::string&, const Change&) { WakeSoon(); });
}

void WatchHub::Start(Spec spec, std::unique_ptr<net::HttpExchange> exchange) {
  const std::uint64_t id = next_id_++;
  // By id: the watcher may have ended before its client disconnected.
  exchange->OnGone([this, id] {
    const auto it = watchers_.find(id);
    if (it == watchers_.end()) return;
    it->second.ended = true;  // freed at the next pump: we may be inside this exchange
    WakeSoon();
  });
  exchange->OnDrained([this, id] {
    if (watchers_.contains(id)) WakeSoon();
  });
  Timer timeout = loop_.After(spec.timeout, [this, id] { OnTimeout(id); });
  exchange->Head(200, {{"content-type", "application/json"}});
  Watcher& watcher = watchers_[id];
  watcher = {std::move(spec), std::move(exchange), 0, std::move(timeout), false};
  watcher.sent = watcher.spec.after;
  if (watcher.spec.initial_events) {
    // The present objects, whenever the client reads them; changes follow from here.
    watcher.sent = store_.version();
    watcher.initial = store_.List(watcher.spec.kind->collection(), watcher.spec.ns);
    std::ranges::reverse(watcher.initial);
    watcher.beginning = true;
  }
  Pump(watcher);
  if (!bookmark_timer_) {
    bookmark_timer_ = loop_.After(kBookmarkInterval, [this] { OnBookmarkTime(); });
  }
  if (watcher.ended) WakeSoon();
}

void WatchHub::EndAll(const std::string& collection) {
  for (auto& [id, watcher] : watchers_) {
    if (watcher.spec.kind->collection() != collection) continue;
    Pump(watcher);
    End(watcher);
  }
  WakeSoon();
}

void WatchHub::WakeSoon() {
  if (std::exchange(waking_, true)) return;
  wake_ = loop_.After(Duration::zero(), [this] {
    waking_ = false;
    PumpAll();
  });
}

void WatchHub::PumpAll() {
  for (auto& [id, watcher] : watchers_) Pump(watcher);
  std::erase_if(watchers_, [](const auto& entry) { return entry.second.ended; });
}

void WatchHub::Pump(Watcher& watcher) {
  if (watcher.ended || !SendInitial(watcher)) return;
  const std::string collection = watcher.spec.kind->collection();
  while (!watcher.ended && watcher.exchange->queued() < kQueuedBytesMax) {
    const std::uint64_t oldest = store_.OldestKnown(collection);
    // A version of the future comes from an earlier run whose state was not stored.
    if (watcher.sent < oldest || watcher.sent > store_.version()) {
      const Refusal expired =
          ExpiredRefusal(fmt::format("too old resource version: {} ({})", watcher.sent, oldest));
      watcher.exchange->Write(Line("ERROR", ToStatusObject(expired)));
      return End(watcher);
    }
    const Change* change = store_.NextChange(collection, watcher.sent);
    if (change == nullptr) return;
    // Also for changes that the watcher does not select, so that it does not fall behind.
    watcher.sent = change->version;
    Send(watcher, *change);
  }
}

void WatchHub::Send(Watcher& watcher, const Change& change) {
  const Spec& spec = watcher.spec;
  const bool was = Concerns(spec, change.key, change.before);
  const bool is = Concerns(spec, change.key, change.after);
  if (!was && !is) return;
  const std::string_view type = !was ? "ADDED" : (is ? "MODIFIED" : "DELETED");
  watcher.exchange->Write(Line(type, spec.present(is ? *change.after : LastSeen(change))));
}

bool WatchHub::SendInitial(Watcher& watcher) {
  const Spec& spec = watcher.spec;
  while (!watcher.initial.empty()) {
    if (watcher.exchange->queued() >= kQueuedBytesMax) return false;
    const Snapshot object = std::move(watcher.initial.back());
    watcher.initial.pop_back();
    if (!spec.selection.Matches(*object)) continue;
    watcher.exchange->Write(Line("ADDED", spec.present(*object)));
  }
  if (std::exchange(watcher.beginning, false) && spec.initial_bookmark)
    SendBookmark(watcher, Bookmark::kInitialEnd);
  return true;
}

void WatchHub::SendBookmark(Watcher& watcher, Bookmark kind) {
  const kube::Resource& resource = watcher.spec.kind->resource;
  Json object = Json::MakeObject({{"kind", resource.kind}, {"apiVersion", resource.api_version()}});
  object["metadata"]["resourceVersion"] = std::to_string(watcher.sent);
  object["metadata"]["creationTimestamp"] = nullptr;
  if (kind == Bookmark::kInitialEnd)
    object["metadata"]["annotations"]["k8s.io/initial-events-end"] = "true";
  watcher.exchange->Write(Line("BOOKMARK", watcher.spec.present(object)));
}

void WatchHub::End(Watcher& watcher) {
  if (std::exchange(watcher.ended, true)) return;
  watcher.exchange->End();
}

void WatchHub::OnTimeout(std::uint64_t id) {
  const auto it = watchers_.find(id);
  if (it == watchers_.end() || it->second.ended) return;
  Pump(it->second);
  if (!it->second.ended) {
    // A last bookmark lets the client resume here instead of at its last event. Not sent while the
    // client lacks objects that are older than the bookmark.
    if (it->second.spec.bookmarks && !it->second.beginning)
      SendBookmark(it->second, Bookmark::kProgress);
    End(it->second);
  }
  WakeSoon();
}

// A watcher that has seen all is as new as the store, whatever changed elsewhere: a bookmark saves
// it a 410 when it resumes later.
void WatchHub::OnBookmarkTime() {
  PumpAll();
  for (auto& [id, watcher] : watchers_) {
    if (!watcher.spec.bookmarks || watcher.exchange->queued() >= kQueuedBytesMax) continue;
    watcher.sent = std::max(watcher.sent, store_.version());
    SendBookmark(watcher, Bookmark::kProgress);
  }
  bookmark_timer_.Cancel();
  if (watchers_.empty()) return;
  bookmark_timer_ = loop_.After(kBookmarkInterval, [this] { OnBookmarkTime(); });
}

}  // namespace galen::api_sim
