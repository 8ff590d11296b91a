// Undoes gzip (RFC 1952) while the bytes arrive, so that a list is never in memory twice. zlib
// behind it. One for each answer, used by one thread at a time; no I/O, no clock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::kube {

class Inflater {
 public:
  // Limit of one answer, unpacked; past it: ResourceExhausted. A list this long would have been
  // asked for in pages, so this is a decompression bomb.
  static constexpr std::size_t kInflatedBytesMax = std::size_t{1} << 30;

  explicit Inflater(std::size_t bytes_max = kInflatedBytesMax);
  ~Inflater();

  // Bytes of one piece: whoever reads decides after each whether that is enough, so that no more
  // than this is unpacked past a reader's own limit.
  static constexpr std::size_t kPieceBytesMax = 16 * 1024;

  // Unpacks the next piece and takes off `bytes` what that used. "" when all of `bytes` is used and
  // nothing more comes of it. DataLoss when they are not gzip or go on after its end,
  // ResourceExhausted past the bound. After an error feed no more.
  StatusOr<std::string> Next(std::string_view& bytes);
  // The answer is over; DataLoss when it was cut off. OK when nothing came at all.
  Status Finish() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::kube
