// Which ends of one Pod are one story, and so one record: one that crashes again and again, or goes
// soon after a crash. Pure.
#pragma once

#include "agent/post_mortem/post_mortem_end.h"
#include "history/post_mortem/post_mortem.h"

namespace galen::agent {

// Whether a Pod that ended so will not run again.
bool IsLast(history::PodEnd end);

// Whether the ending belongs to `last`, the newest record of its Pod. A reboot of the node begins a
// record of its own, to which belongs what the containers show of it afterwards.
bool BelongsTo(const history::PostMortem& last, const PodEnding& ending);

// Takes the ending into a record to which it belongs and that is not over.
void Join(history::PostMortem& record, const PodEnding& ending);

}  // namespace galen::agent
