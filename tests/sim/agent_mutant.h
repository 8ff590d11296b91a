// Ways in which an agent could be broken, each of which the rules must find. The node around it
// changes its writes, its disk or what its drivers report as if it were such an agent.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace galen::sim {

enum class AgentMutant {
  kNone,
  kForgetsItsJournal,     // what it had written down is gone when it starts again
  kReadsNoJournal,        // it is there, and the agent begins with nothing all the same
  kRecordsLate,           // its journal is written a moment after the Pods
  kHealthyForEver,        // Unknown is never published to a Pod
  kPublishesUnknownLate,  // Unknown is published to a Pod 25 s later than it must be
  kPublishesAnother,      // a Pod that holds gpu-0 gets the status of gpu-3
  kListsAnother,          // the same, in the list of its container's devices only
  kWritesForNothing,      // it says again and again what it said
  kDropsAChange,          // some of its writes to Pods never leave
  kStopsPublishing,       // after a while the node's object is written no more
  kDatesBack,             // after a while the node's object has times of the hour before
  kCountsTwice,           // an Event's count is twice what happened
  kWritesAnothers,        // a Pod's annotation that is somebody else's is written, too
  kForgetsTheFirstEvent,  // the Event of a fault is never made
  kForgetsItsRecords,     // its post-mortem records are gone when it starts again
  kMixesSerials,          // the node's object names gpu-0 by the serial of gpu-3
  kKeepsTheGroupsDevice,  // what it says of nic-3 of a PodGroup, it says of nic-2
  kDeafAfterASecond410,   // its watches say nothing any more once they have expired twice
  kCountsOnce,            // an Event's count stays 1, however often it happens
  kRecordsAnothers,       // its post-mortem records have gpu-3 for gpu-0
  kTakesOldReports,       // what its drivers report after a fault is from before it
  kNeverResets,           // its drivers leave devices set up that no Pod holds
};
std::string_view ToString(AgentMutant mutant);

// Whether it is one that only an agent sends: to a Pod's status or to the node's object.
bool IsAgentWrite(const net::HttpRequest& request);
// Whether it is one of an Event.
bool IsEventWrite(const net::HttpRequest& request);
// What becomes of it; none is taken for written.
std::optional<net::HttpRequest> MutatedEvent(AgentMutant mutant, const net::HttpRequest& write);
// "/api/v1/namespaces/default/pods/a" of ".../pods/a/status?fieldManager=b".
std::string ObjectOf(const net::HttpRequest& request);

// What becomes of the agent's `number`th write, from 1: it, another, or none, which the agent takes
// for written. A dropped write of kPublishesUnknownLate is made later.
std::optional<net::HttpRequest> Mutated(AgentMutant mutant, const net::HttpRequest& write,
                                        int number);

}  // namespace galen::sim
