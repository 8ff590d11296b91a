// What can be measured: each part starts its own cluster, measures, and ends it. Blocking calls on
// the thread of its bench. An error means that nothing could be measured: a program ended by
// itself, a wait was in vain, or somebody interrupted (Cancelled).
#pragma once

#include <vector>

#include "bench/figure.h"
#include "bench/rig.h"

namespace galen::bench {

// An event injected at the driver → the Pod's status at a watcher of the API; single changes.
StatusOr<std::vector<Figure>> MeasureLatency(Bench& bench);
// The same on a node with a driver that floods.
StatusOr<std::vector<Figure>> MeasureFlood(Bench& bench);
// The agent beside eight drivers of 4,000 devices that flood.
StatusOr<std::vector<Figure>> MeasureCrowd(Bench& bench);
// Bursts of drawn sizes over 64 devices, as fast as the driver goes.
StatusOr<std::vector<Figure>> MeasureBurst(Bench& bench);
// 4,096 devices and 512 Pods on one node: memory, and how soon a change is published.
StatusOr<std::vector<Figure>> MeasureScale(Bench& bench);
// 5,000 changes a second for a minute: is anything lost, does anything grow.
StatusOr<std::vector<Figure>> MeasureSustained(Bench& bench);
// A day of a busy node, compressed, with everybody restarted now and then: does anything grow.
StatusOr<std::vector<Figure>> MeasureSoak(Bench& bench);
// kill -9 of the driver → its Pods show Unknown.
StatusOr<std::vector<Figure>> MeasureKilledDriver(Bench& bench);
// SIGSTOP of the driver → its Pods show Unknown, counted from the deadline of its last report.
StatusOr<std::vector<Figure>> MeasureSilentDriver(Bench& bench);
// What an observer uses while nothing happens.
StatusOr<std::vector<Figure>> MeasureIdle(Bench& bench);
// Start of an agent that was killed -9 → the Pod shows what changed meanwhile.
StatusOr<std::vector<Figure>> MeasureRestart(Bench& bench);
// Memory that reading a Pod list of 46 MB takes.
StatusOr<std::vector<Figure>> MeasureListMemory(Bench& bench);
// Readings through the rules: how many a second, and how much memory they ask for.
StatusOr<std::vector<Figure>> MeasureEngine(Bench& bench);
// A line of the kernel's log → the Pod, alone and among ten thousand others a second.
StatusOr<std::vector<Figure>> MeasureKernelLog(Bench& bench);
// What a driver uses that reads files and NVML while nothing changes.
StatusOr<std::vector<Figure>> MeasureDevices(Bench& bench);

}  // namespace galen::bench
