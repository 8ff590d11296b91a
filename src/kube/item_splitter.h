// Reads a List answer while it arrives and hands out each element of its top-level "items" by
// itself, so that a list of any size costs no more than its largest item. What stands around the
// items is kept and read at the end, because a server may write metadata after them. Strict: broken
// JSON anywhere is an error. A value with a callback; belongs to its caller. One for each
// answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/data/json.h"
#include "kube/resource.h"

namespace galen::kube {

// What a list says about itself (metav1.ListMeta).
struct ListHead {
  // From which a watch goes on.
  std::string resource_version;
  std::string resume;          // the `continue` token; "" = this was the last page
  std::int64_t remaining = 0;  // objects on the pages to come, where the server says

  bool operator==(const ListHead&) const = default;
};

class ItemSplitter {
 public:
  // Past these: ResourceExhausted. etcd takes objects of 1.5 MiB by default (--max-request-bytes);
  // JSON is longer than what is stored.
  static constexpr std::size_t kItemBytesMax = 8 * 1024 * 1024;
  // A list's metadata is a few hundred bytes.
  static constexpr std::size_t kEnvelopeBytesMax = 1024 * 1024;

  // Items of a typed list carry no kind and apiVersion of their own; `resource`'s are filled in.
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
  // What Structural knows, of the envelope or of the present item: whether it is inside a string,
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

}  // namespace galen::kube
