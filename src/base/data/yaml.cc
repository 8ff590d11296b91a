#include "base/data/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/data/yaml_scalar.h"
#include "base/text.h"

namespace galen {
namespace {

// Values of one text, copies by aliases included: a few lines of nested aliases can ask for
// billions.
constexpr std::size_t kCopiedValuesMax = 1'000'000;
// Bytes of a key that a fault shows.
constexpr std::size_t kShownBytesMax = 80;

std::string_view TextOf(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

// One event of the parser, freed when it goes.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }

  yaml_event_t* get() { return &event_; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
};

// Recursion ends: values come from Open, which bounds their depth.
std::size_t CountValues(const Json& value) {
  std::size_t count = 1;
  for (const Json& item : value.items()) count += CountValues(item);
  for (const auto& member : value.members()) count += CountValues(member.second);
  return count;
}

int DepthOf(const Json& value) {
  int below = 0;
  for (const Json& item : value.items()) below = std::max(below, DepthOf(item));
  for (const auto& member : value.members()) below = std::max(below, DepthOf(member.second));
  return value.is_array() || value.is_object() ? below + 1 : 0;
}

// Reads the documents of one stream, one after the other.
class Reader {
 public:
  explicit Reader(std::string_view text) {
    GALEN_CHECK(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const yaml_char_t*>(text.data()),
                                 text.size());
  }
  ~Reader() { yaml_parser_delete(&parser_); }
  Reader(const Reader&) = delete;

  // The next document, or nullopt at the end.
  StatusOr<std::optional<Json>> NextDocument();
  // Counted over all documents so far.
  const std::vector<DoubledKey>& doubled() const { return doubled_; }

 private:
  // A list or mapping that is being read. A mapping is read as key, value, key, value: `key` says
  // which of the two is due.
  struct Level {
    Json value;
    std::string anchor;
    std::optional<std::string> key;  // has come, its value has not
  };

  Status Next(Event& event);
  StatusOr<Json> ReadNode();
  // One event inside a document; true when the outermost value is complete.
  StatusOr<bool> Take(const Event& event);
  Status Open(const Event& event, Json value, const yaml_char_t* anchor);
  StatusOr<bool> Close(const Event& event);
  StatusOr<bool> Add(const Event& event, Json value, std::string_view anchor);
  Status AddKey(const Event& event, Level& level);
  Status Count(const Event& event, const Json& value);
  StatusOr<Json> Resolve(const Event& event) const;
  StatusOr<Json> FollowAlias(const Event& event);

  yaml_parser_t parser_{};
  std::vector<Level> open_;
  Json root_;
  std::map<std::string, Json, std::less<>> anchors_;
  std::size_t values_ = 0;
  std::vector<DoubledKey> doubled_;
};

Status FaultAt(const yaml_mark_t& mark, std::string_view what) {
  return InvalidArgument("YAML line {}, column {}: {}", mark.line + 1, mark.column + 1, what);
}

Status Reader::Next(Event& event) {
  if (yaml_parser_parse(&parser_, event.get()) == 1) return OkStatus();
  const std::string_view problem = parser_.problem == nullptr ? "it is broken" : parser_.problem;
  // Bytes that are not text have an offset instead of a line.
  if (parser_.error == YAML_READER_ERROR)
    return InvalidArgument("YAML byte {}: {}", parser_.problem_offset, problem);
  return FaultAt(parser_.problem_mark, problem);
}

StatusOr<std::optional<Json>> Reader::NextDocument() {
  while (true) {
    Event event;
    RETURN_IF_ERROR(Next(event));
    // Past the end the parser gives events of no type.
    if (event->type == YAML_STREAM_END_EVENT || event->type == YAML_NO_EVENT) {
      return std::optional<Json>();
    }
    if (event->type != YAML_DOCUMENT_START_EVENT) continue;
    ASSIGN_OR_RETURN(Json document, ReadNode());
    return std::optional<Json>(std::move(document));
  }
}

StatusOr<Json> Reader::ReadNode() {
  open_.clear();
  anchors_.clear();
  while (true) {
    Event event;
    RETURN_IF_ERROR(Next(event));
    ASSIGN_OR_RETURN(const bool complete, Take(event));
    if (complete) return std::move(root_);
  }
}

StatusOr<bool> Reader::Take(const Event& event) {
  // A key is not a value: it may be an alias or a list in YAML, but not in JSON.
  const bool key_due = !open_.empty() && open_.back().value.is_object() && !open_.back().key;
  if (key_due && event->type != YAML_MAPPING_END_EVENT) {
    RETURN_IF_ERROR(AddKey(event, open_.back()));
    return false;
  }
  switch (event->type) {
    case YAML_SCALAR_EVENT: {
      ASSIGN_OR_RETURN(Json value, Resolve(event));
      return Add(event, std::move(value), TextOf(event->data.scalar.anchor));
    }
    case YAML_ALIAS_EVENT: {
      ASSIGN_OR_RETURN(Json value, FollowAlias(event));
      return Add(event, std::move(value), {});
    }
    case YAML_SEQUENCE_START_EVENT:
      RETURN_IF_ERROR(Open(event, Json::Array(), event->data.sequence_start.anchor));
      return false;
    case YAML_MAPPING_START_EVENT:
      RETURN_IF_ERROR(Open(event, Json::Object(), event->data.mapping_start.anchor));
      return false;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return Close(event);
    default:
      return FaultAt(event->start_mark, "a value is missing");
  }
}

Status Reader::Open(const Event& event, Json value, const yaml_char_t* anchor) {
  if (open_.size() >= static_cast<std::size_t>(Json::kDepthMax)) {
    return FaultAt(event->start_mark, fmt::format("nested deeper than {} levels", Json::kDepthMax));
  }
  open_.push_back({std::move(value), std::string(TextOf(anchor)), std::nullopt});
  return OkStatus();
}

StatusOr<bool> Reader::Close(const Event& event) {
  Level level = std::move(open_.back());
  open_.pop_back();
  return Add(event, std::move(level.value), level.anchor);
}

StatusOr<bool> Reader::Add(const Event& event, Json value, std::string_view anchor) {
  ++values_;
  // The anchor's own copy counts too: a thousand anchors around one large list are a bomb as well.
  if (!anchor.empty()) {
    RETURN_IF_ERROR(Count(event, value));
    anchors_.insert_or_assign(std::string(anchor), value);
  }
  if (open_.empty()) {
    root_ = std::move(value);
    return true;
  }
  Level& level = open_.back();
  if (level.value.is_array()) {
    level.value.Append(std::move(value));
  } else {
    level.value[*std::exchange(level.key, std::nullopt)] = std::move(value);
  }
  return false;
}

Status Reader::AddKey(const Event& event, Level& level) {
  if (event->type != YAML_SCALAR_EVENT) {
    return FaultAt(event->start_mark, "a key must be plain text");
  }
  const auto& scalar = event->data.scalar;
  std::string key(reinterpret_cast<const char*>(scalar.value), scalar.length);
  // YAML 1.1's merge key. Taken for a plain key, what it merges would be lost silently.
  if (key == "<<" && scalar.plain_implicit != 0) {
    return FaultAt(event->start_mark, "merging with << is not supported, write the keys out");
  }
  if (level.value.Has(key)) {
    // No reason to stop: the rest may have faults to report as well.
    const yaml_mark_t& mark = event->start_mark;
    if (doubled_.size() < kDoubledKeysMax) {
      doubled_.push_back({mark.line + 1, mark.column + 1, Shown(key, kShownBytesMax)});
    }
  }
  level.key = std::move(key);
  return OkStatus();
}

// Called before `value` is copied.
Status Reader::Count(const Event& event, const Json& value) {
  values_ += CountValues(value);
  if (values_ <= kCopiedValuesMax) return OkStatus();
  return FaultAt(event->start_mark,
                 fmt::format("anchors and aliases make more than {} values", kCopiedValuesMax));
}

StatusOr<Json> Reader::Resolve(const Event& event) const {
  const auto& scalar = event->data.scalar;
  const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
  const std::string_view tag = TextOf(scalar.tag);
  // Quoted text is never a number or a bool; only plain scalars are looked at.
  if (tag.empty()) return scalar.plain_implicit != 0 ? ResolvePlain(text) : Json(text);
  if (tag == YAML_STR_TAG || tag == "!") return Json(text);
  if (tag == YAML_NULL_TAG || tag == YAML_BOOL_TAG || tag == YAML_INT_TAG ||
      tag == YAML_FLOAT_TAG) {
    return ResolvePlain(text);
  }
  return FaultAt(event->start_mark, fmt::format("tag {} is not supported", tag));
}

StatusOr<Json> Reader::FollowAlias(const Event& event) {
  const std::string_view name = TextOf(event->data.alias.anchor);
  const auto found = anchors_.find(name);
  if (found == anchors_.end()) {
    return FaultAt(event->start_mark, fmt::format("alias *{} names no anchor before it", name));
  }
  // Depth is checked where text opens a level; an alias brings its levels all at once.
  if (static_cast<int>(open_.size()) + DepthOf(found->second) > Json::kDepthMax) {
    return FaultAt(event->start_mark, fmt::format("nested deeper than {} levels", Json::kDepthMax));
  }
  RETURN_IF_ERROR(Count(event, found->second));
  return found->second;
}

// The keys that come twice, then `status`; OK when there is neither.
Status WithDoubled(const std::vector<DoubledKey>& doubled, const Status& status) {
  if (doubled.empty()) return status;
  std::string text;
  for (const DoubledKey& key : doubled) {
    text += fmt::format("{}YAML line {}, column {}: key \"{}\" comes twice",
                        text.empty() ? "" : "; ", key.line, key.column, key.key);
  }
  if (!status.ok()) text += "; " + status.message();
  return InvalidArgument("{}", text);
}

StatusOr<Json> OnlyDocument(Reader& reader) {
  ASSIGN_OR_RETURN(std::optional<Json> first, reader.NextDocument());
  ASSIGN_OR_RETURN(const std::optional<Json> second, reader.NextDocument());
  if (second) return InvalidArgument("YAML holds more than one document, one is wanted");
  return first ? std::move(*first) : Json();
}

StatusOr<std::vector<Json>> AllDocuments(Reader& reader) {
  std::vector<Json> documents;
  while (true) {
    ASSIGN_OR_RETURN(std::optional<Json> document, reader.NextDocument());
    if (!document) return documents;
    if (!document->is_null()) documents.push_back(std::move(*document));
  }
}

}  // namespace

StatusOr<YamlReading> ReadYaml(std::string_view text) {
  Reader reader(text);
  StatusOr<Json> value = OnlyDocument(reader);
  if (!value.ok()) return WithDoubled(reader.doubled(), value.status());
  return YamlReading{std::move(value).value(), reader.doubled()};
}

StatusOr<Json> ParseYaml(std::string_view text) {
  ASSIGN_OR_RETURN(YamlReading reading, ReadYaml(text));
  RETURN_IF_ERROR(WithDoubled(reading.doubled, OkStatus()));
  return std::move(reading.value);
}

StatusOr<std::vector<Json>> ParseYamlStream(std::string_view text) {
  Reader reader(text);
  StatusOr<std::vector<Json>> documents = AllDocuments(reader);
  RETURN_IF_ERROR(WithDoubled(reader.doubled(), documents.status()));
  return documents;
}

}  // namespace galen
