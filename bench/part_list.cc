// A table; galen-bench --help and the page of the figures show it.
#include "bench/part_list.h"

#include <fmt/ranges.h>

#include <string_view>

namespace galen::bench {

const std::vector<Part>& Parts() {
  static const std::vector<Part> kParts = {
      {"latency", MeasureLatency,
       "300 single changes, XID 79 and its reset, injected over the driver's socket into eight "
       "GPUs in turn; the driver's answer holds when. The end is the moment at which a watcher of "
       "Pods in this program, over TLS, knows the new `allocatedResourcesStatus`."},
      {"flood", MeasureFlood,
       "latency again, first alone and then beside a driver without the SDK that reports eight "
       "devices ten thousand times a second, each time with all of them in another state; from its "
       "first moment on."},
      {"crowd", MeasureCrowd,
       "eight drivers of 4,000 devices are started at once and report all of them in another "
       "state, as fast as their streams take it, beside a driver of eight GPUs that is left in "
       "peace. Each tenth of a second the agent is asked for /healthz, as by a kubelet's probe, "
       "and the next of those GPUs changes."},
      {"burst", MeasureBurst,
       "three times, on a node of its own each, a driver on the SDK makes one change in each "
       "round of health and asks for the next round at once; how many, from 1,000 to 160,000, is "
       "drawn anew in each run. Where its stream is slower than it, a newer snapshot takes an "
       "older one's place: that is what merges. Each device ends in a state that it never had "
       "before. Then the agent is stopped and its journal is read from disk: the numbers of its "
       "records, and the numbers that the driver gave its changes, which the states on the Pods "
       "carry as well."},
      {"sustained", MeasureSustained,
       "that driver at a pace: a hundred reports a second, each with fifty devices in another "
       "state. The agent's resident memory is the kernel's, each second. Each state on a Pod has "
       "the number that the driver gave its change."},
      {"scale", MeasureScale,
       "an observer beside a simulated kubelet; sixteen drivers of 256 simulated GPUs, with "
       "names as long as usual, 512 Pods with eight each. Changes as for latency, into one driver "
       "after the other; the end is the Pod's condition at the watcher."},
      {"soak", MeasureSoak,
       "an hour of a busy node is four seconds: the driver killed or stopped and started, sixteen "
       "Pods that come and go, 96 changes of the devices that they hold, 24 questions to the "
       "agent; each fourth hour the API is killed and started. Memory and descriptors are the "
       "kernel's, at the end of each hour when all is published. Post-mortem records have their "
       "smallest bound (64 KiB), so that all that is kept is full by noon."},
      {"killed", MeasureKilledDriver,
       "SIGKILL to the driver; the end is the last of eight Pods that says Unknown."},
      {"silent", MeasureSilentDriver,
       "SIGSTOP to a driver whose report is valid for one second; sockets stay open. The agent is "
       "asked for the age of the last report and its deadline; counted from that deadline."},
      {"idle", MeasureIdle,
       "an observer beside a simulated kubelet, 16 Pods with a GPU each. Ticks, resident memory "
       "and bytes to disk are the kernel's own count for the agent; writes to the API are the "
       "agent's count and the objects whose version changed."},
      {"restart", MeasureRestart,
       "SIGKILL to the agent, a GPU changes meanwhile, the agent is started; the end is the Pod "
       "that says what changed, so journal, API, registration and the driver's stream are all in "
       "it."},
      {"list", MeasureListMemory,
       "a process of its own with the agent's informer; the growth of its resident peak, divided "
       "by the bytes of the list."},
      {"engine", MeasureEngine,
       "in this program, on one thread: all readings and counters of the built-in table, of 64 "
       "GPUs "
       "that are well, in two polls that take turns for three seconds. Calls of operator new are "
       "counted after five thousand polls. What reading the hardware costs is not in it."},
      {"kernel-log", MeasureKernelLog,
       "lines with an XID, each of a GPU that a Pod holds, written by this program into a pipe "
       "that "
       "gives the driver one record a read, as /dev/kmsg does, which takes ten lines in five "
       "seconds of a program; each GPU is reset before its next line. Then the same for fifteen "
       "seconds among other lines, some much like it. A line that finds the pipe full counts as "
       "lost."},
      {"devices", MeasureDevices,
       "galen-driver as a process, beside an agent: over a tree of files like that of /sys, and "
       "over an NVML library that answers from a table (no GPU: what the real library takes for an "
       "answer is not in it). CPU time and memory are the kernel's count for the driver, after ten "
       "seconds, while nothing changes."}};
  return kParts;
}

std::string PartNames() {
  std::vector<std::string_view> names;
  for (const Part& part : Parts()) names.push_back(part.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace galen::bench
