// A post-mortem as text, shared by Events, `galen why` and `galen post-mortem`. Pure.
#pragma once

#include <string>

#include "history/post_mortem/post_mortem.h"

namespace galen::history {

// "container train, exit 134 (SIGABRT)", "container train, exit 137 (OOMKilled, SIGKILL)".
std::string TextOf(const ContainerEnd& end);

// The end of a Pod in one phrase: "Failed", "Evicted (DeletionByTaintManager)", "Gone between
// 14:02:11 and 14:09:40" with times in UTC.
std::string EndText(const PostMortem& record);

// The most relevant container: the first that ended badly, else the last; nullptr without any.
const ContainerEnd* MostRelevantEnd(const PostMortem& record);

// The verdict in a sentence; "nothing crashed" of a Pod whose containers all ended well.
std::string VerdictText(const PostMortem& record);

// The message of an Event, one sentence: the end, the most relevant fault, the verdict.
std::string SentenceOf(const PostMortem& record);

// "SIGABRT"; "signal 42" where Linux has no name for it.
std::string SignalName(int signal);

}  // namespace galen::history
