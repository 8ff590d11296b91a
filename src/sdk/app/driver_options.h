// The options of a driver, checked whole, and the command line that fills them.
#pragma once

#include "base/files/file_system.h"
#include "base/log.h"
#include "base/status.h"
#include "galen/driver.h"
#include "kube/config.h"

namespace galen::sdk {

// InvalidArgument with every fault in it, also when two options that are right by themselves make a
// socket path that is too long.
Status ValidateOptions(const Driver::Options& options);

// Where the API server is, and as whom the driver asks it. Dials nothing. Errors are
// kube::FindConfig's.
StatusOr<kube::ClusterConfig> FindCluster(FileSystem& files, const Driver::Options& options);

// The pool the devices are published in: the option, or the node's name.
std::string PoolOf(const Driver::Options& options);

}  // namespace galen::sdk
