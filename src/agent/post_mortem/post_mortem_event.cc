// Tested by post_mortem_keeper_test.cc: when a record is judged once more, and its one Event made.
#include <algorithm>
#include <utility>

#include "agent/post_mortem/post_mortem_keeper.h"
#include "history/post_mortem/relevant_finding.h"

namespace galen::agent {

void PostMortemKeeper::RejudgeLater(const Id& id) {
  const Time due = parts_.loop.Now() + kRejudgeAfter;
  if (to_rejudge_.empty()) rejudge_ = parts_.loop.At(due, [this] { RejudgeDue(); });
  to_rejudge_.emplace(id, due);
}

void PostMortemKeeper::RejudgeDue() {
  if (!synced_) return;  // OnSynced judges it later
  StoreDirty();
  const Time now = parts_.loop.Now();
  std::size_t rejudged = 0;
  for (auto it = to_rejudge_.begin(); it != to_rejudge_.end();) {
    if (it->second > now || rejudged >= kRejudgedAtOnceMax) {
      ++it;
      continue;
    }
    const Id id = it->first;
    it = to_rejudge_.erase(it);
    const auto open = open_.find(id);
    if (open == open_.end()) continue;
    ++rejudged;
    history::PostMortem record = Judged(open->second);
    const bool publish = history::HadFaultByItsEnd(record) && !record.published;
    Store(record);
    if (publish && publishing_.insert(id).second) {
      parts_.publish_event(record.pod, "post-mortem " + std::to_string(record.number),
                           EventOf(record),
                           [this, id](bool written) { NotePublished(id, written); });
    }
  }
  if (to_rejudge_.empty()) return;
  // Looked for among all, since one may have come meanwhile.
  const auto due = [](const auto& entry) { return entry.second; };
  const Time next = std::ranges::min_element(to_rejudge_, {}, due)->second;
  rejudge_ = parts_.loop.At(next, [this] { RejudgeDue(); });
}

void PostMortemKeeper::NotePublished(const Id& id, bool written) {
  publishing_.erase(id);
  const auto open = open_.find(id);
  if (open == open_.end()) return;
  if (!written) return RejudgeLater(id);
  history::PostMortem record = open->second;
  record.published = true;
  Store(std::move(record));
}

}  // namespace galen::agent
