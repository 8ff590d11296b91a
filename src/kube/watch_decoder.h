// Answers of the API server read while they arrive: a list into its items, a watch into its events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/data/json.h"
#include "kube/resource.h"

namespace galen::kube {

// A list's metadata (metav1.ListMeta).
struct ListHead {
  // The version from which a watch goes on.
  std::string resource_version;
  std::string resume;          // the `continue` token; "" = this was the last page
  std::int64_t remaining = 0;  // objects on the pages to come, where the server says

  bool operator==(const ListHead&) const = default;
};

// Reads a List answer while it arrives and hands out each element of its top-level "items" by
// itself, so that a list of any size costs no more than its largest item. What stands around the
// items is kept and read at the end, because a server may write metadata after them. Strict: broken
// JSON anywhere is an error. One for each answer, used by one thread at a time; calls back within
// the call.
class ItemSplitter {
 public:
  // Past these: ResourceExhausted. etcd takes objects of 1.5 MiB by default (--max-request-bytes);
  // JSON is longer than what is stored.
  static constexpr std::size_t kItemBytesMax = 8 * 1024 * 1024;
  // A list's metadata is a few hundred bytes.
  static constexpr std::size_t kEnvelopeBytesMax = 1024 * 1024;

  // Items of a typed list have no kind and apiVersion of their own: they get those of `resource`.
  // `on_item` runs inside Write, in the list's order; it must not destroy the splitter.
  ItemSplitter(const Resource& resource, std::function<void(Json item)> on_item)
      : resource_(resource), on_item_(std::move(on_item)) {}

  // Takes the next bytes, cut anywhere. DataLoss for broken JSON or two "items". After an error
  // feed no more: some items may have been delivered.
  Status Write(std::string_view bytes);
  // The answer is over; DataLoss when it is not whole.
  StatusOr<ListHead> Finish();

 private:
  // kBeforeNext differs from kBeforeFirst by what may follow: after a comma no "]".
  enum class Place { kEnvelope, kBeforeFirst, kBeforeNext, kInItem, kAfterItem };

  // Each takes what it understands from the front of `bytes`.
  Status InEnvelope(std::string_view& bytes);
  Status BetweenItems(std::string_view& bytes);
  Status InItem(std::string_view& bytes);
  // Follows strings and brackets; true when `c` is structure rather than part of a string.
  bool Structural(char c);
  bool StartsItems(char c);
  // Parses item_ and hands it out.
  Status EmitItem();

  const Resource resource_;
  const std::function<void(Json)> on_item_;
  // Where in the answer the next byte stands.
  Place place_ = Place::kEnvelope;
  std::string envelope_;  // everything but the items
  std::string item_;
  // The state of Structural, of the envelope or of the present item: whether it is inside a string,
  // behind a backslash, and how many brackets are open.
  bool in_string_ = false;
  bool escaped_ = false;
  int depth_ = 0;
  std::size_t string_begin_ = 0;  // in envelope_: the latest string at depth 1
  std::string key_;               // the member of the list that is being read
  bool seen_items_ = false;
  // Items so far; for errors.
  std::size_t count_ = 0;
};

// A change of one object; the object is as it is after it, for kDeleted as it was last.
struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError };
  Type type = Type::kAdded;
  // For kBookmark only kind and metadata.resourceVersion, for kError a Kubernetes Status.
  Json object;
};

// Cuts the bytes of a watch into its events: one JSON object a line (metav1.WatchEvent). One
// for each watch, used by one thread at a time; no I/O.
class WatchDecoder {
 public:
  // Limit of one line. Past it: ResourceExhausted. As ItemSplitter::kItemBytesMax: an event is an
  // object.
  static constexpr std::size_t kEventBytesMax = 8 * 1024 * 1024;

  // Takes the next bytes, cut anywhere. REQUIRES: Next was called until it wanted more. After an
  // error feed no more.
  Status Write(std::string_view bytes);
  // The next event, nullopt when more bytes are wanted, DataLoss for a line that is not an event.
  // The broken line is gone then; whether to go on is the caller's to say.
  StatusOr<std::optional<WatchEvent>> Next();
  // The watch is over; DataLoss when it ended inside an event, whose line is then lost.
  Status Finish() const;

 private:
  // From the first line not taken to the last byte that came; cut at the front by Write only.
  std::string buffer_;
  std::size_t begin_ = 0;    // of the first line not taken
  std::size_t scanned_ = 0;  // up to here there is no newline
};

}  // namespace galen::kube
