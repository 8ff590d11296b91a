// What an API server sends. The first byte says how the bytes are cut: pieces must not matter.
#include <vector>

#include "base/check.h"
#include "kube/inflater.h"
#include "kube/objects/event.h"
#include "kube/objects/node_device_health.h"
#include "kube/objects/pod.h"
#include "kube/objects/resource_claim.h"
#include "kube/objects/resource_slice.h"
#include "kube/watch_decoder.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

// Small, so that its edge is found.
constexpr std::size_t kInflatedBytesMax = std::size_t{1} << 16;

// What came out of a reader, as text, so that two ways to feed it can be compared.
using Seen = std::vector<std::string>;

Seen ReadWatch(std::string_view bytes, std::size_t piece) {
  Seen seen;
  kube::WatchDecoder decoder;
  for (Input input(bytes); !input.empty();) {
    if (!decoder.Write(input.Piece(piece)).ok()) {
      seen.push_back("refused");
      return seen;
    }
    while (true) {
      const StatusOr<std::optional<kube::WatchEvent>> event = decoder.Next();
      if (event.ok() && !event->has_value()) break;
      seen.push_back(event.ok() ? (*event)->object.Dump() : "broken line");
    }
  }
  seen.push_back(decoder.Finish().ok() ? "whole" : "cut off");
  return seen;
}

Seen ReadList(std::string_view bytes, std::size_t piece) {
  Seen seen;
  kube::ItemSplitter splitter(kube::kPods, [&](const Json& item) { seen.push_back(item.Dump()); });
  for (Input input(bytes); !input.empty();) {
    if (!splitter.Write(input.Piece(piece)).ok()) {
      seen.push_back("refused");
      return seen;
    }
  }
  const StatusOr<kube::ListHead> head = splitter.Finish();
  seen.push_back(head.ok() ? head->resource_version + head->resume : "not whole");
  return seen;
}

Seen Inflate(std::string_view bytes, std::size_t piece) {
  Seen seen = {""};
  kube::Inflater inflater(kInflatedBytesMax);
  for (Input input(bytes); !input.empty();) {
    std::string_view packed = input.Piece(piece);
    StatusOr<std::string> more = inflater.Next(packed);
    for (; more.ok() && !more->empty(); more = inflater.Next(packed)) seen[0] += *more;
    // What the refused piece unpacked to is not handed out, so how much there was depends on the
    // cut.
    if (!more.ok()) return {"refused"};
    GALEN_CHECK(seen[0].size() <= kInflatedBytesMax);
  }
  seen.push_back(inflater.Finish().ok() ? "whole" : "cut off");
  return seen;
}

// What we understood of an object we write so that we understand the same.
template <typename T>
void ReadsAsWritten(StatusOr<T> (*decode)(const Json&), Json (*encode)(const T&),
                    const Json& object) {
  const StatusOr<T> read = decode(object);
  if (!read.ok()) return;
  const Json written = encode(*read);
  const StatusOr<T> again = decode(written);
  GALEN_CHECK(again.ok() && encode(*again) == written);
}

}  // namespace

void FuzzWatch(std::string_view bytes) {
  Input input(bytes);
  const std::size_t piece = std::size_t{input.Byte()} + 1;
  const std::string_view rest = input.Rest();
  GALEN_CHECK(ReadWatch(rest, piece) == ReadWatch(rest, rest.size() + 1));
  GALEN_CHECK(ReadList(rest, piece) == ReadList(rest, rest.size() + 1));
  GALEN_CHECK(Inflate(rest, piece) == Inflate(rest, rest.size() + 1));
}

void FuzzObjects(std::string_view bytes) {
  const StatusOr<Json> object = Json::Parse(bytes);
  if (!object.ok()) return;
  static_cast<void>(kube::DecodePod(*object));
  static_cast<void>(kube::DecodeClaim(*object));
  ReadsAsWritten(kube::DecodeNodeDeviceHealth, kube::EncodeNodeDeviceHealth, *object);
  if (const auto event = kube::DecodeEvent(*object); event.ok()) {
    static_cast<void>(kube::EventPatch(*event, kube::Again(*event, 1, "again", WallTime{})));
  }
  ReadsAsWritten(kube::DecodeSlice, kube::EncodeSlice, *object);
  const auto slice = kube::DecodeSlice(*object);
  if (!slice.ok()) return;
  for (const kube::SliceDevice& device : slice->devices) {
    static_cast<void>(kube::IdentityOf(*slice, device));
  }
}

}  // namespace galen::fuzz
