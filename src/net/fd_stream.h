// A connected socket as a byte stream. Belongs to its loop.
#pragma once

#include <memory>

#include "base/fd.h"
#include "base/io_loop.h"
#include "net/byte_stream.h"

namespace galen::net {

// `fd` is connected and non-blocking.
std::unique_ptr<ByteStream> MakeFdStream(IoLoop& loop, Fd fd);

}  // namespace galen::net
