// Undoes gzip (RFC 1952) while the bytes arrive, so that a list is never in memory twice. zlib
// behind it. A value; belongs to its caller. One for each answer.
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

  // What the next bytes unpack to, maybe nothing yet; DataLoss when they are no gzip or go on after
  // its end, ResourceExhausted past the bound. After an error feed no more.
  StatusOr<std::string> Write(std::string_view bytes);
  // The answer is over; DataLoss when it was cut off. OK when nothing came at all.
  Status Finish() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::kube
