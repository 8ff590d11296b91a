#include <utility>

#include "kube/watch_decoder.h"

namespace galen::kube {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Status TooLong(std::string_view what, std::size_t most) {
  return ResourceExhausted("{} of a list is longer than {} bytes", what, most);
}

}  // namespace

Status ItemSplitter::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    switch (place_) {
      case Place::kEnvelope:
        RETURN_IF_ERROR(InEnvelope(bytes));
        break;
      case Place::kInItem:
        RETURN_IF_ERROR(InItem(bytes));
        break;
      case Place::kBeforeFirst:
      case Place::kBeforeNext:
      case Place::kAfterItem:
        RETURN_IF_ERROR(BetweenItems(bytes));
        break;
    }
  }
  return OkStatus();
}

bool ItemSplitter::Structural(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
    return false;
  }
  if (c == '"') {
    in_string_ = true;
    return false;
  }
  // Brackets are counted, not matched: the parser sees to that at the end of each part.
  if (c == '{' || c == '[') ++depth_;
  if (c == '}' || c == ']') --depth_;
  return true;
}

// Whether the "[" that was just read opens the list's own "items".
bool ItemSplitter::StartsItems(char c) { return c == '[' && depth_ == 2 && key_ == "items"; }

Status ItemSplitter::InEnvelope(std::string_view& bytes) {
  while (!bytes.empty()) {
    const char c = bytes.front();
    bytes.remove_prefix(1);
    // One byte at a time, so the bound holds within a piece as well.
    if (envelope_.size() >= kEnvelopeBytesMax) return TooLong("the head", kEnvelopeBytesMax);
    envelope_ += c;
    const bool was_in_string = in_string_;
    const bool structural = Structural(c);
    if (!was_in_string && in_string_) string_begin_ = envelope_.size();
    if (!structural) continue;
    // The string before a colon is a name; only at depth 1 is it one of the list's own.
    if (c == ':' && depth_ == 1) {
      key_ = envelope_.substr(string_begin_, envelope_.find('"', string_begin_) - string_begin_);
    }
    if (c == ',' && depth_ == 1) key_.clear();
    if (!StartsItems(c)) continue;
    if (std::exchange(seen_items_, true)) return DataLoss("the list has \"items\" twice");
    // The "[" stays in the envelope, the "]" will too: it reads as an empty list there.
    place_ = Place::kBeforeFirst;
    return OkStatus();
  }
  return OkStatus();
}

Status ItemSplitter::BetweenItems(std::string_view& bytes) {
  while (!bytes.empty() && IsSpace(bytes.front())) bytes.remove_prefix(1);
  if (bytes.empty()) return OkStatus();
  const char c = bytes.front();
  if (c == '{' && place_ != Place::kAfterItem) {
    place_ = Place::kInItem;
    item_.clear();
    // The depth within the item; the bracket that was just seen is counted by InItem.
    depth_ = 0;
    return OkStatus();
  }
  bytes.remove_prefix(1);
  if (c == ',' && place_ == Place::kAfterItem) {
    place_ = Place::kBeforeNext;
    return OkStatus();
  }
  if (c != ']' || place_ == Place::kBeforeNext) {
    return DataLoss("after {} items of a list comes '{}'", count_, c);
  }
  envelope_ += c;
  key_.clear();
  // Back inside the list's own object.
  depth_ = 1;
  place_ = Place::kEnvelope;
  return OkStatus();
}

Status ItemSplitter::InItem(std::string_view& bytes) {
  std::size_t used = 0;
  bool whole = false;
  while (used < bytes.size() && !whole) whole = Structural(bytes[used++]) && depth_ == 0;
  if (item_.size() + used > kItemBytesMax) return TooLong("an item", kItemBytesMax);
  item_ += bytes.substr(0, used);
  bytes.remove_prefix(used);
  return whole ? EmitItem() : OkStatus();
}

Status ItemSplitter::EmitItem() {
  StatusOr<Json> item = Json::Parse(item_);
  if (!item.ok()) {
    return DataLoss("item {} of a list is broken: {}", count_, item.status().message());
  }
  // Readers may rely on them, in a list as in a watch, where the server writes them.
  if (!item->Has("kind")) (*item)["kind"] = resource_.kind;
  if (!item->Has("apiVersion")) (*item)["apiVersion"] = resource_.api_version();
  ++count_;
  place_ = Place::kAfterItem;
  on_item_(std::move(item).value());
  return OkStatus();
}

StatusOr<ListHead> ItemSplitter::Finish() {
  if (place_ != Place::kEnvelope) return DataLoss("the list breaks off after {} items", count_);
  const StatusOr<Json> envelope = Json::Parse(envelope_);
  if (!envelope.ok()) return DataLoss("the list is broken: {}", envelope.status().message());
  const Json& items = (*envelope)["items"];
  // "items": null is how Go writes an empty list.
  if (!envelope->is_object() || (!items.is_array() && !items.is_null())) {
    return DataLoss("the answer is not a list");
  }
  const Json& meta = (*envelope)["metadata"];
  return ListHead{.resource_version = meta["resourceVersion"].AsString(),
                  .resume = meta["continue"].AsString(),
                  .remaining = meta["remainingItemCount"].AsInt()};
}

}  // namespace galen::kube
