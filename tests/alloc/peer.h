// The subcommands of `alloc-peer`, which answers a Go program that asks the original the same: one
// JSON object a line in, one out. Each is a file of its own.
#pragma once

#include "base/data/json.h"

namespace galen::alloc_peer {

// {"options": {"minor", "features"}, "held": {"devices", "shares", "amounts"}, "classes", "slices",
// "rules", "node", "claims"} to {"verdict", "results", "message", "calls"}; objects as
// resource.k8s.io/v1 writes them.
Json AnswerAllocate(const Json& question);

// {"expr", "device", "minor"} to {"outcome": "true" | "false" | "compile" | "unsupported" | "run",
// "error", "cost"}, the cost of what is true or false. The device is as resource.k8s.io writes it,
// with "driver" beside.
Json AnswerCel(const Json& question);

}  // namespace galen::alloc_peer
