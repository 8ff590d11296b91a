#include "agent/post_mortem/post_mortem_story.h"

#include <algorithm>

namespace galen::agent {

using history::PodEnd;
using history::PostMortem;

bool IsLast(PodEnd end) { return end != PodEnd::kCrashed && end != PodEnd::kNodeReboot; }

bool BelongsTo(const PostMortem& last, const PodEnding& ending) {
  if (last.over) return true;
  if (last.end == PodEnd::kNodeReboot) return ending.time <= last.until();
  return ending.end != PodEnd::kNodeReboot && ending.time <= last.first + kCrashWindow;
}

void Join(PostMortem& record, const PodEnding& ending) {
  record.over = IsLast(ending.end);
  // That the node went is why the Pod did, and when. Were its time moved by each crash that comes
  // after, a Pod that never stops crashing would have this record alone.
  if (record.end == PodEnd::kNodeReboot) return;
  record.ended = std::max(record.ended, ending.time);
  // A crash is told by its containers.
  if (!record.over) return;
  record.end = ending.end;
  record.reason = ending.reason;
  record.exact = ending.end != PodEnd::kGone;
}

}  // namespace galen::agent
