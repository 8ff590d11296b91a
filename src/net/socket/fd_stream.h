// A connected socket as a byte stream: reads when the loop says so, writes at once as far as the
// kernel takes it and keeps the rest. Belongs to its loop, which outlives it.
#pragma once

#include <memory>

#include "base/fd.h"
#include "base/loop/io_loop.h"
#include "net/byte_stream.h"

namespace galen::net {

// Owns `fd` from now on. REQUIRES: it is connected, non-blocking and watched by nobody else.
std::unique_ptr<ByteStream> MakeFdStream(IoLoop& loop, Fd fd);

}  // namespace galen::net
