// Plays the kubelet's plugin watcher towards one registration socket: asks GetInfo in every way
// that kubelets do, and notifies the driver of how registration ended.
#pragma once

#include <string>
#include <vector>

#include "conformance/link.h"

namespace galen::conformance {

// Asks one socket who it is, within the kubelet's second. On a connection that fails, its status.
InfoAnswer AskInfo(const Edges& edges, const std::string& socket, std::string_view request = "");

// What may be asked while a kubelet uses the driver, too.
void AskAgain(const Edges& edges, RegistrationSeen& seen);
// Where the endpoint lies and whether somebody listens there.
void LookAtEndpoint(const Edges& edges, RegistrationSeen& seen);
// NotifyRegistrationStatus: registered.
Answer NotifyRegistered(const Edges& edges, const std::string& socket);
// A refusal, and whether the driver survives it. Comes last, because drivers make their sockets
// anew after it; NotifyRegistered again puts it right.
void NotifyRefused(const Edges& edges, RegistrationSeen& seen);

// The endpoint as a kubelet takes it: an empty one is the registration socket itself.
std::string EndpointOf(const RegistrationSeen& seen);

}  // namespace galen::conformance
