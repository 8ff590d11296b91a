// Ways in which an agent could be broken, to see that the rules find each. The node around it acts
// so that nobody can tell it from an agent that is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace galen::sim {

enum class AgentMutant {
  kNone,
  kForgetsItsJournal,  // what it had written down is gone when it starts again
  kReadsNoJournal,     // it is there, and the agent begins with nothing all the same
  kHealthyForEver,     // a Pod is never told that nothing is known any more
  kTellsUnknownLate,   // it takes 25 s longer than it must until a Pod hears that nothing is known
  kTellsOfAnother,     // a Pod that holds gpu-0 is told of gpu-3
  kListsAnother,       // the same, in the list of its container's devices only
  kWritesForNothing,   // it says again and again what it said
  kDropsAChange,       // some of what it tells a Pod never leaves
  kStopsTelling,       // after a while the node's object is written no more
};
std::string_view ToString(AgentMutant mutant);

// Whether it is one that only an agent sends: to a Pod's status or to the node's object.
bool IsAgentWrite(const net::HttpRequest& request);
// "/api/v1/namespaces/default/pods/a" of ".../pods/a/status?fieldManager=b".
std::string ObjectOf(const net::HttpRequest& request);

// What becomes of the agent's `number`th write, from 1: it, another, or none, which the agent takes
// for written. One that tells of the unknown late has the write that is none done later.
std::optional<net::HttpRequest> Mutated(AgentMutant mutant, const net::HttpRequest& write,
                                        int number);

}  // namespace galen::sim
