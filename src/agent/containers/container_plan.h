// What to start for a Pod: its containers as processes of this machine, read from the Pod object of
// the API server, and the environment that CDI files give them. Pure, except that it reads those
// files. Rules: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
// (Container)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/files/file_system.h"
#include "base/time.h"
#include "kube/objects/pod.h"

namespace galen::agent {

// The Pod's restartPolicy: whether an ended container is started again.
enum class RestartPolicy { kAlways, kOnFailure, kNever };

// The machine that the processes run on.
struct PlanPlace {
  std::string node;       // its name in the cluster
  std::string directory;  // of all Pods; each container gets one of its own below it
  std::string path;       // PATH, unless the container sets its own
};

// One container, ready to be started, unless `fault` says why it cannot be.
struct ContainerPlan {
  std::string name, image;
  kube::Container::Kind kind = kube::Container::Kind::kMain;  // never ephemeral
  // Program and arguments as written: "$(NAME)" in them stands for a variable of the run.
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string directory;  // its own: log and termination message; it goes with the Pod
  std::string working_directory;
  std::optional<std::uint64_t> memory_bytes_max;
  // terminationMessagePolicy: the end of the log stands in for a message that was not written.
  bool message_from_log = false;
  std::string fault;
};

// A Pod as the node starts it: every container that may run, and the rules of the whole.
struct PodPlan {
  PodRef ref;
  RestartPolicy restart = RestartPolicy::kAlways;
  Duration grace = std::chrono::seconds(30);  // terminationGracePeriodSeconds
  std::vector<ContainerPlan> containers;      // init ones in their order, then the main ones
};

// The variable by which a process is known to belong to a container: it holds the container's
// directory.
inline constexpr std::string_view kContainerDirectoryVariable = "GALEN_CONTAINER_DIRECTORY";
// The file whose text becomes the message of the run's end, as /dev/termination-log is in a
// container of its own. Each run has another, in the container's directory.
inline constexpr std::string_view kTerminationLogVariable = "GALEN_TERMINATION_LOG";
inline constexpr std::string_view kTerminationLogName = "termination-log";

// The directory of one Pod below that of all: by name for people, by uid because names come again.
std::string DirectoryOfPod(const std::string& pods_directory, const PodRef& pod);

// Every container but ephemeral ones. What cannot be had without a container runtime (an image,
// volumes, probes, security contexts) is left out; a variable that cannot be known is a fault of
// its container. InvalidArgument: the object has no usable metadata.
StatusOr<PodPlan> PlanOf(const Json& pod, const PlanPlace& place);

// "$(NAME)" becomes the variable's value where it is known, "$$" a dollar, as Kubernetes has it for
// commands and variables.
std::string ExpandVariables(std::string_view text,
                            const std::map<std::string, std::string>& variables);

// A quantity of bytes ("128Mi", "1e9", 512), rounded up; nullopt for anything else.
std::optional<std::uint64_t> BytesOf(const Json& quantity);

// The environment that drivers give to containers by CDI files, as far as a process can have it:
// mounts and hooks need a container and are left out, device nodes are those of the machine.
// Format: github.com/cncf-tags/container-device-interface, SPEC.md. The variables of these devices
// ("vendor.com/class=name"): of a file's own edits once for each file that has one of the devices,
// then of the devices in the order they are named; the last of a name counts. A directory that is
// missing holds none; of a device in two directories the later one counts. NotFound names the first
// device that no readable file has.
StatusOr<std::map<std::string, std::string>> CdiEnvironment(
    FileSystem& files, const std::vector<std::string>& directories,
    const std::vector<std::string>& devices);

}  // namespace galen::agent
