#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api_sim/patch/patch.h"

namespace galen::api_sim {
namespace {

// RFC 6901: the names and indexes on the way from the root to a value.
using Pointer = std::vector<std::string>;

StatusOr<std::string> UnescapeToken(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    const char next = i + 1 < token.size() ? token[i + 1] : '\0';
    // RFC 6901, section 3: "~0" is "~" and "~1" is "/"; nothing else may follow.
    if (next != '0' && next != '1') return InvalidArgument("\"~\" must be followed by 0 or 1");
    out += next == '0' ? '~' : '/';
    ++i;
  }
  return out;
}

StatusOr<Pointer> ParsePointer(std::string_view text) {
  Pointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') return InvalidArgument("pointer \"{}\" must start with \"/\"", text);
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view token = text.substr(0, text.find('/'));
    StatusOr<std::string> name = UnescapeToken(token);
    if (!name.ok()) return Annotate(name.status(), "pointer token \"{}\"", token);
    pointer.push_back(std::move(name).value());
    text.remove_prefix(token.size());
  }
  // No object is that deep, and a bounded depth cannot overflow the stack.
  if (pointer.size() > static_cast<std::size_t>(Json::kDepthMax)) {
    return InvalidArgument("pointer has {} tokens, at most {} make sense", pointer.size(),
                           Json::kDepthMax);
  }
  return pointer;
}

// An index into `size` items; decimal digits without leading zeros.
StatusOr<std::size_t> ParseIndex(const std::string& token, std::size_t size) {
  std::size_t index = 0;
  const char* end = token.data() + token.size();
  const auto [rest, error] = std::from_chars(token.data(), end, index);
  // RFC 6901, section 4 forbids it; "01" and "1" would be two names of one item.
  const bool leading_zero = token.size() > 1 && token.front() == '0';
  if (token.empty() || leading_zero || rest != end || error != std::errc()) {
    return InvalidArgument("\"{}\" is no index of a list", token);
  }
  if (index >= size) {
    return FailedPrecondition("index {} is past the end of a list of {}", index, size);
  }
  return index;
}

StatusOr<Json*> Child(Json& parent, const std::string& token) {
  // An object may have a member called "0": the parent's kind decides what a token means.
  if (parent.is_object()) {
    const auto it = parent.MutableMembers().find(token);
    if (it == parent.MutableMembers().end()) {
      return FailedPrecondition("there is no member \"{}\"", token);
    }
    return &it->second;
  }
  if (!parent.is_array())
    return FailedPrecondition("\"{}\" is sought in a value that is no object or list", token);
  ASSIGN_OR_RETURN(const std::size_t index, ParseIndex(token, parent.items().size()));
  return &parent.MutableItems()[index];
}

// The value after the first `depth` steps; stays valid until the document changes.
StatusOr<Json*> Find(Json& root, const Pointer& pointer, std::size_t depth) {
  Json* at = &root;
  for (std::size_t i = 0; i < depth; ++i) {
    ASSIGN_OR_RETURN(at, Child(*at, pointer[i]));
  }
  return at;
}

// As Json::Parse counts: an empty list is one level deep, a plain value none.
int DepthOf(const Json& value) {
  int deepest = 0;
  for (const Json& item : value.items()) deepest = std::max(deepest, DepthOf(item));
  for (const auto& [name, member] : value.members()) deepest = std::max(deepest, DepthOf(member));
  return value.is_array() || value.is_object() ? deepest + 1 : 0;
}

// Equal as RFC 6902 section 4.6 means it: 1 and 1.0 are the same number.
bool Same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_int() && b.is_int() ? a.AsInt() == b.AsInt() : a.AsDouble() == b.AsDouble();
  }
  if (a.is_array() && b.is_array()) return std::ranges::equal(a.items(), b.items(), Same);
  if (!a.is_object() || !b.is_object()) return a == b;
  return std::ranges::equal(a.members(), b.members(), [](const auto& x, const auto& y) {
    return x.first == y.first && Same(x.second, y.second);
  });
}

// One patch being applied to a copy of the object. A value that lives as long as the call.
class JsonPatcher {
 public:
  explicit JsonPatcher(Json document) : document_(std::move(document)) {}

  Status Apply(const Json& operation);
  Json TakeDocument() { return std::move(document_); }

 private:
  Status Dispatch(const std::string& op, const Pointer& path, const Json& operation);
  Status Add(const Pointer& path, Json value);
  Status Remove(const Pointer& path);
  Status Replace(const Pointer& path, const Json& value);
  Status MoveOrCopy(bool move, const Pointer& path, const Json& operation);
  Status Test(const Pointer& path, const Json& value);

  Json document_;
  std::size_t copied_bytes_ = 0;
};

Status JsonPatcher::Apply(const Json& operation) {
  if (!operation.is_object()) return InvalidArgument("must be an object");
  if (!operation["op"].is_string()) return InvalidArgument("\"op\" is missing");
  if (!operation["path"].is_string()) return InvalidArgument("\"path\" is missing");
  const std::string& op = operation["op"].AsString();
  const std::string& path = operation["path"].AsString();
  StatusOr<Pointer> pointer = ParsePointer(path);
  if (!pointer.ok()) return pointer.status();
  return Annotate(Dispatch(op, *pointer, operation), "{} \"{}\"", op, path);
}

Status JsonPatcher::Dispatch(const std::string& op, const Pointer& path, const Json& operation) {
  if (op == "remove") return Remove(path);
  if (op == "move" || op == "copy") return MoveOrCopy(op == "move", path, operation);
  const Json* value = operation.Find("value");
  if (op != "add" && op != "replace" && op != "test") {
    return InvalidArgument("the operation must be add, remove, replace, move, copy or test");
  }
  if (value == nullptr) return InvalidArgument("\"value\" is missing");
  if (op == "add") return Add(path, *value);
  if (op == "replace") return Replace(path, *value);
  return Test(path, *value);
}

Status JsonPatcher::Add(const Pointer& path, Json value) {
  // A patch must not create what Json::Parse would refuse.
  if (DepthOf(value) + static_cast<int>(path.size()) > Json::kDepthMax) {
    return InvalidArgument("the object would be more than {} levels deep", Json::kDepthMax);
  }
  if (path.empty()) {
    document_ = std::move(value);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Json* const parent, Find(document_, path, path.size() - 1));
  if (parent->is_object()) {
    parent->MutableMembers().insert_or_assign(path.back(), std::move(value));
    return OkStatus();
  }
  if (!parent->is_array()) return FailedPrecondition("its parent is no object or list");
  Json::Array& items = parent->MutableItems();
  std::size_t index = items.size();
  // "-" is the place after the last item (RFC 6902, section 4.1).
  if (path.back() != "-") {
    // An add may name the place after the last item.
    ASSIGN_OR_RETURN(index, ParseIndex(path.back(), items.size() + 1));
  }
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
  return OkStatus();
}

Status JsonPatcher::Remove(const Pointer& path) {
  if (path.empty()) return InvalidArgument("the whole object cannot be removed");
  ASSIGN_OR_RETURN(Json* const parent, Find(document_, path, path.size() - 1));
  if (parent->is_object() && parent->Erase(path.back())) return OkStatus();
  if (const StatusOr<Json*> child = Child(*parent, path.back()); !child.ok()) return child.status();
  ASSIGN_OR_RETURN(const std::size_t index, ParseIndex(path.back(), parent->items().size()));
  Json::Array& items = parent->MutableItems();
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(index));
  return OkStatus();
}

Status JsonPatcher::Replace(const Pointer& path, const Json& value) {
  // Unlike add: the replaced value must exist.
  ASSIGN_OR_RETURN(Json* const target, Find(document_, path, path.size()));
  if (DepthOf(value) + static_cast<int>(path.size()) > Json::kDepthMax)
    return InvalidArgument("the object would be more than {} levels deep", Json::kDepthMax);
  *target = value;
  return OkStatus();
}

Status JsonPatcher::MoveOrCopy(bool move, const Pointer& path, const Json& operation) {
  if (!operation["from"].is_string()) return InvalidArgument("\"from\" is missing");
  ASSIGN_OR_RETURN(const Pointer from, ParsePointer(operation["from"].AsString()));
  // RFC 6902, section 4.4; `from` equal to `path` moves nothing and is allowed.
  const bool inside =
      from.size() < path.size() && std::ranges::equal(from, std::span(path).first(from.size()));
  if (move && inside) return InvalidArgument("a value cannot be moved into itself");
  StatusOr<Json*> source = Find(document_, from, from.size());
  if (!source.ok()) return Annotate(source.status(), "from \"{}\"", operation["from"].AsString());
  if (move && from == path) return OkStatus();
  Json value = move ? std::move(**source) : **source;
  if (move) {
    RETURN_IF_ERROR(Remove(from));
  } else {
    // Each copy may double the object: ten of them would make a thousand times its size.
    copied_bytes_ += value.Dump().size();
  }
  if (copied_bytes_ > kJsonPatchCopiedBytesMax) {
    return InvalidArgument("copies add up to more than {} bytes", kJsonPatchCopiedBytesMax);
  }
  return Add(path, std::move(value));
}

Status JsonPatcher::Test(const Pointer& path, const Json& value) {
  ASSIGN_OR_RETURN(const Json* const target, Find(document_, path, path.size()));
  if (!Same(*target, value))
    return FailedPrecondition("the value differs from the one in the test");
  return OkStatus();
}

}  // namespace

Status ApplyJsonPatch(Json& object, const Json& patch) {
  if (!patch.is_array()) return InvalidArgument("a JSON patch must be a list of operations");
  if (patch.items().size() > kJsonPatchOperationsMax) {
    return InvalidArgument("the patch has {} operations, at most {} are taken",
                           patch.items().size(), kJsonPatchOperationsMax);
  }
  // On a copy: a failed operation must leave the object as it was.
  JsonPatcher patcher(object);
  for (std::size_t i = 0; i < patch.items().size(); ++i) {
    RETURN_IF_ERROR(Annotate(patcher.Apply(patch.items()[i]), "operation {}", i));
  }
  object = patcher.TakeDocument();
  return OkStatus();
}

}  // namespace galen::api_sim
