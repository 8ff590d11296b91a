// The options of a driver, checked whole, and the command line that fills them.
#pragma once

#include "base/files/file_system.h"
#include "base/log.h"
#include "base/status.h"
#include "galen/driver.h"
#include "kube/config.h"

namespace galen::sdk {

// InvalidArgument with every fault in it, also when two valid options together make too long a
// socket path.
Status ValidateOptions(const Driver::Options& options);

// The API server's address and the driver's credentials for it. Dials nothing. Errors are
// kube::FindConfig's.
StatusOr<kube::ClusterConfig> FindCluster(FileSystem& files, const Driver::Options& options);

// The pool in which the devices are published: the option, or the node's name.
std::string PoolOf(const Driver::Options& options);

}  // namespace galen::sdk
