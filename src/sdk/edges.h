// What the parts of a driver need of its process.
#pragma once

#include "base/files/file_system.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "net/connection.h"
#include "net/endpoint/socket_keeper.h"

namespace galen::sdk {

// Borrowed; they outlive all parts.
struct Edges {
  Loop& loop;
  Log& log;
  Metrics& metrics;
  Random& random;
  FileSystem& files;
  net::SocketHost& sockets;
  kube::Client& api;
  // Dials the kubelet; unused without a device plugin.
  net::Dialer* dialer = nullptr;
};

}  // namespace galen::sdk
