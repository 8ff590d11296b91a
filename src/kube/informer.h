// A kind kept in memory, as small as its reader wants it: each object is decoded into T, which
// holds only what is needed. One writer (its watcher), readers on the same loop. An object that
// cannot be decoded is reported by OnWatchTrouble, and its last decoded value stays.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/watcher.h"
#include "model/claim.h"

namespace galen::kube {

template <typename T>
class Informer final : private WatchSink {
 public:
  using Decode = std::function<StatusOr<T>(const Json& object)>;
  // `before` is null for a new object, `after` for one that is gone; T's of before are still alive.
  using OnChange = std::function<void(const ObjectKey& key, const T* before, const T* after)>;
  using Index = std::function<std::vector<std::string>(const T& object)>;

  Informer(Loop& loop, Client& client, Random& random, Watcher::Options options, Decode decode)
      : decode_(std::move(decode)), watcher_(loop, client, random, std::move(options), *this) {}

  // Before Start. Listeners are called for every change in order; objects that stay equal are no
  // change.
  void AddListener(OnChange listener) { listeners_.push_back(std::move(listener)); }
  void AddIndex(std::string name, Index index) {
    indexes_[std::move(name)].keys_of = std::move(index);
  }
  // The whole first list is known; runs at most once.
  void OnSynced(std::function<void()> callback) { on_synced_ = std::move(callback); }
  void OnWatchTrouble(std::function<void(const Status&)> callback) {
    on_trouble_ = std::move(callback);
  }
  // The kind is watched again, and every object that is known could be decoded.
  void OnWatchWell(std::function<void()> callback) { on_well_ = std::move(callback); }
  void Start() { watcher_.Start(); }

  bool synced() const { return synced_; }
  std::optional<Time> last_contact() const { return watcher_.last_contact(); }
  const T* Find(const ObjectKey& key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : &it->second;
  }
  const std::map<ObjectKey, T>& objects() const { return objects_; }
  // Keys of the objects that index `name` files under `value`. REQUIRES: an index of that name.
  const std::set<ObjectKey>& Lookup(const std::string& name, const std::string& value) const;

 private:
  struct IndexState {
    Index keys_of;
    std::map<std::string, std::set<ObjectKey>> keys;
  };

  void OnInit() override {
    pending_.emplace();
    undecoded_.clear();
  }
  void OnInitItem(const Json& object) override;
  void OnInitDone() override;
  void OnApplied(const Json& object) override;
  void OnDeleted(const Json& object) override { Replace(KeyOf(object), std::nullopt); }
  void OnTrouble(const Status& status) override {
    if (on_trouble_) on_trouble_(status);
  }
  void OnWell() override {
    if (on_well_ && undecoded_.empty()) on_well_();
  }

  static ObjectKey KeyOf(const Json& object) {
    const Json& meta = object["metadata"];
    return {meta["namespace"].AsString(), meta["name"].AsString()};
  }
  void Replace(const ObjectKey& key, std::optional<T> after);
  void Reindex(const ObjectKey& key, const T* before, const T* after);

  const Decode decode_;
  std::map<ObjectKey, T> objects_;
  std::optional<std::map<ObjectKey, T>> pending_;  // a list being read; swapped in when it is whole
  std::map<std::string, IndexState> indexes_;
  std::vector<OnChange> listeners_;
  std::function<void()> on_synced_;
  std::function<void(const Status&)> on_trouble_;
  std::function<void()> on_well_;
  std::set<ObjectKey> undecoded_;  // as the server has them now
  bool synced_ = false;
  Watcher watcher_;
};

template <typename T>
const std::set<ObjectKey>& Informer<T>::Lookup(const std::string& name,
                                               const std::string& value) const {
  static const std::set<ObjectKey> kNone;
  const IndexState& index = indexes_.at(name);
  const auto it = index.keys.find(value);
  return it == index.keys.end() ? kNone : it->second;
}

template <typename T>
void Informer<T>::OnInitItem(const Json& object) {
  const ObjectKey key = KeyOf(object);
  StatusOr<T> decoded = decode_(object);
  if (decoded.ok()) {
    pending_->insert_or_assign(key, std::move(decoded).value());
    return;
  }
  undecoded_.insert(key);
  // The object is there, so it must not be reported as gone: its last decoded value stays.
  if (const T* known = Find(key)) pending_->insert_or_assign(key, *known);
  OnTrouble(Annotate(decoded.status(), "{}", ToString(key)));
}

template <typename T>
void Informer<T>::OnInitDone() {
  std::map<ObjectKey, T> fresh = std::move(*pending_);
  pending_.reset();
  // First what is gone, then what is there: a name that moves is never in two places of an index.
  std::vector<ObjectKey> gone;
  for (const auto& [key, object] : objects_) {
    if (!fresh.contains(key)) gone.push_back(key);
  }
  for (const ObjectKey& key : gone) Replace(key, std::nullopt);
  for (auto& [key, object] : fresh) Replace(key, std::move(object));
  if (std::exchange(synced_, true)) return;
  if (on_synced_) on_synced_();
}

template <typename T>
void Informer<T>::OnApplied(const Json& object) {
  StatusOr<T> decoded = decode_(object);
  if (!decoded.ok()) {
    undecoded_.insert(KeyOf(object));
    return OnTrouble(Annotate(decoded.status(), "{}", ToString(KeyOf(object))));
  }
  Replace(KeyOf(object), std::move(decoded).value());
}

template <typename T>
void Informer<T>::Replace(const ObjectKey& key, std::optional<T> after) {
  undecoded_.erase(key);
  auto node = objects_.extract(key);
  const T* before = node ? &node.mapped() : nullptr;
  if (before == nullptr && !after) return;
  const bool equal = before != nullptr && after && *before == *after;
  const T* now = after ? &objects_.emplace(key, std::move(*after)).first->second : nullptr;
  if (equal) return;
  Reindex(key, before, now);
  for (const OnChange& listener : listeners_) listener(key, before, now);
}

template <typename T>
void Informer<T>::Reindex(const ObjectKey& key, const T* before, const T* after) {
  for (auto& [name, index] : indexes_) {
    if (before != nullptr) {
      for (const std::string& value : index.keys_of(*before)) {
        index.keys[value].erase(key);
        if (index.keys[value].empty()) index.keys.erase(value);
      }
    }
    if (after != nullptr) {
      for (const std::string& value : index.keys_of(*after)) index.keys[value].insert(key);
    }
  }
}

}  // namespace galen::kube
