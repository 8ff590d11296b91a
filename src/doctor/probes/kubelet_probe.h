// What the kubelet leaves to be seen on its node without being asked: its process, its
// configuration and its record of prepared claims. Reads files, changes nothing. Calls block.
#pragma once

#include <string>

#include "base/files/file_system.h"
#include "doctor/observations.h"

namespace galen::doctor {

// The kubelet whose --root-dir is `root` as we see it, among the processes of `proc` ("/proc"): a
// kubelet in a mount namespace of its own may call that directory by another name, and another
// node's may call its own by this name. Where its namespace may not be looked into, the name
// counts. Among several it is the one that was started with `node`'s name, else the one that sees
// the files that we see. NotFound when there is none, as for a program in a Pod that does not see
// the machine's processes.
StatusOr<KubeletProcess> FindKubelet(FileSystem& files, const std::string& proc,
                                     const std::string& root, const std::string& node);

// RLIMIT_NOFILE of a process, by proc(5)'s limits; -1 = unlimited.
StatusOr<std::int64_t> OpenFilesOf(FileSystem& files, const std::string& proc, std::int64_t pid);

// featureGates of the configuration file that the process was given, or of <root>/config.yaml
// where kubeadm puts it; what --feature-gates says wins. NotFound when neither is there. Of a
// process whose file may not be read only the gates of its flags are known; then it is `complete`,
// so that nobody takes a default for what the file may have set.
StatusOr<Gates> ReadConfiguredGates(FileSystem& files, const Seen<KubeletProcess>& process,
                                    const std::string& root);

// <root>/dra_manager_state, which a kubelet makes at its start. NotFound when it is not there, as
// for a program in a Pod that is given a part of the root. DataLoss when its checksum is wrong or
// it is not what kubelets from 1.34 on write.
StatusOr<std::vector<PreparedClaim>> ReadPreparedClaims(FileSystem& files, const std::string& root);

}  // namespace galen::doctor
