#include "kube/inflater.h"

#include <zlib.h>

#include <array>

#include "base/check.h"

namespace galen::kube {

struct Inflater::Impl {
  z_stream stream{};
  std::size_t bytes_max = 0;
  std::size_t bytes = 0;
  bool was_full = false;  // the piece before was as long as one may be
  bool started = false;
  bool ended = false;
};

Inflater::Inflater(std::size_t bytes_max) : impl_(std::make_unique<Impl>()) {
  impl_->bytes_max = bytes_max;
  constexpr int kGzipOnly = 16;  // zlib's way of saying so, on top of the window's size
  GALEN_CHECK(inflateInit2(&impl_->stream, MAX_WBITS + kGzipOnly) == Z_OK);
}

Inflater::~Inflater() { inflateEnd(&impl_->stream); }

StatusOr<std::string> Inflater::Next(std::string_view& bytes) {
  std::array<char, kPieceBytesMax> buffer;
  z_stream& stream = impl_->stream;
  // A full buffer before may mean that there is more to come out, even with nothing left to go in.
  while (!bytes.empty() || impl_->was_full) {
    if (impl_->ended && bytes.empty()) return std::string();
    if (impl_->ended) return DataLoss("bytes after the end of a gzip answer");
    // zlib takes a pointer to non-const and does not write through it.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(bytes.size() - stream.avail_in);
    impl_->was_full = stream.avail_out == 0;
    if (result == Z_BUF_ERROR) return std::string();  // wants more
    if (result != Z_OK && result != Z_STREAM_END) return DataLoss("the answer is not gzip");
    impl_->started = true;
    impl_->ended = result == Z_STREAM_END;
    const std::size_t got = buffer.size() - stream.avail_out;
    impl_->bytes += got;
    if (impl_->bytes > impl_->bytes_max) {
      return ResourceExhausted("the answer unpacks to more than {} bytes", impl_->bytes_max);
    }
    if (got > 0) return std::string(buffer.data(), got);
  }
  return std::string();
}

Status Inflater::Finish() const {
  if (impl_->started && !impl_->ended) return DataLoss("a gzip answer was cut off");
  return OkStatus();
}

}  // namespace galen::kube
