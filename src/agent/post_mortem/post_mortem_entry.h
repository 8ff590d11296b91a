// What is entered into a post-mortem record after it was begun, and which endings of a Pod make one
// record. Pure.
#pragma once

#include <functional>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "agent/post_mortem/post_mortem_end.h"
#include "agent/publish/event_publisher.h"
#include "history/post_mortem/post_mortem.h"
#include "kube/objects/pod.h"

namespace galen::agent {

// Into a device of the record. Whether it was news that is kept: a driver that is back
// repeats what it said before, and one that flaps says more than is kept. Findings stay in the
// order in which they were reported.
bool Enter(const history::PostMortem& record, const history::ReceivedFinding& finding,
           history::PostMortemDevice& device);

// Each device once for each claim, with every container that sees it: several shares of one, or
// requests that got it, are one device.
std::vector<history::PostMortemDevice> DevicesOfHeld(
    const std::vector<HeldDevice>& held,
    const std::function<DeviceIdentity(const DeviceId&)>& identity_of);
// Whether it is one device through one claim.
bool IsSame(const history::PostMortemDevice& a, const history::PostMortemDevice& b);

// What is held now, behind those of `noted` that were given back meanwhile: they were held all the
// same. Who a device is that nobody knows any more is taken from `noted`.
std::vector<history::PostMortemDevice> WithNoted(std::vector<history::PostMortemDevice> present,
                                                 std::vector<history::PostMortemDevice> noted);

// When the Pod began to run; of one that never did, when it was made. nullopt: not known.
std::optional<WallTime> BeganOf(const kube::Pod& pod);
// What the Pod shows of its containers' ends in the record's window, who owns it and whether
// somebody asked for it to go. An end that is shown again may say more.
void AddPod(history::PostMortem& record, const kube::Pod& pod);

// The one Event of the record on its Pod: a Warning, unless the Pod was only deleted.
EventText EventOf(const history::PostMortem& record);

// Whether a Pod that ended so will not run again.
bool IsLast(history::PodEnd end);

// Whether the ending belongs to `last`, the newest record of its Pod. A reboot of the node begins a
// record of its own, to which belongs what the containers show of it afterwards.
bool BelongsTo(const history::PostMortem& last, const PodEnding& ending);

// Takes the ending into a record to which it belongs and that is not over.
void Join(history::PostMortem& record, const PodEnding& ending);

}  // namespace galen::agent
