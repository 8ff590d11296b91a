// Tested by tests/contract/table_test.cc.
#include "api_sim/storage/presentation.h"

#include <map>

#include "base/text.h"

namespace galen::api_sim {
namespace {

// One entry of Accept: "application/json;as=Table;v=v1;g=meta.k8s.io".
struct MediaRange {
  std::string_view type;
  std::map<std::string_view, std::string_view> parameters;
};

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(Trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

MediaRange ReadRange(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ';');
  MediaRange range{parts.front(), {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos) continue;
    range.parameters[parts[i].substr(0, equals)] = parts[i].substr(equals + 1);
  }
  return range;
}

std::optional<Presentation::Form> FormOf(const MediaRange& range) {
  using Form = Presentation::Form;
  const bool json = range.type == "application/json" || range.type == "application/*" ||
                    range.type == "*/*" || range.type.empty();
  if (!json) return std::nullopt;
  const auto as = range.parameters.find("as");
  if (as == range.parameters.end()) return Form::kObject;
  if (as->second == "Table") return Form::kTable;
  const bool metadata =
      as->second == "PartialObjectMetadata" || as->second == "PartialObjectMetadataList";
  return metadata ? std::optional(Form::kMetadata) : std::nullopt;
}

Json MetadataOnly(const Json& object) {
  return Json::MakeObject({{"kind", "PartialObjectMetadata"},
                           {"apiVersion", "meta.k8s.io/v1"},
                           {"metadata", object["metadata"]}});
}

// Objects are stored in the version in which they were written.
Json InVersion(const Kind& kind, const Json& object) {
  Json shown = object;
  shown["apiVersion"] = kind.resource.api_version();
  return shown;
}

Json RowOf(const Kind& kind, const Json& object, Presentation::Include include, WallTime now) {
  Json row = Json::MakeObject({{"cells", TableCells(kind, object, now)}});
  switch (include) {
    case Presentation::Include::kMetadata:
      row["object"] = MetadataOnly(object);
      break;
    case Presentation::Include::kObject:
      row["object"] = InVersion(kind, object);
      break;
    case Presentation::Include::kNothing:
      break;
  }
  return row;
}

Json TableOf(const Kind& kind, Json rows, Json meta) {
  return Json::MakeObject({{"kind", "Table"},
                           {"apiVersion", "meta.k8s.io/v1"},
                           {"metadata", std::move(meta)},
                           {"columnDefinitions", TableColumns(kind)},
                           {"rows", std::move(rows)}});
}

}  // namespace

Json Presentation::One(const Kind& kind, const Json& object, WallTime now) const {
  switch (form) {
    case Form::kObject:
      return InVersion(kind, object);
    case Form::kMetadata:
      return MetadataOnly(object);
    case Form::kTable: {
      Json meta = Json::MakeObject({{"resourceVersion", object["metadata"]["resourceVersion"]}});
      return TableOf(kind, Json::MakeArray({RowOf(kind, object, include, now)}), std::move(meta));
    }
  }
  GALEN_UNREACHABLE();
}

Json Presentation::Many(const Kind& kind, const std::vector<Snapshot>& objects, Json meta,
                        WallTime now) const {
  Json items = Json(Json::Array());
  for (const Snapshot& object : objects) {
    items.Append(form == Form::kTable ? RowOf(kind, *object, include, now)
                                      : One(kind, *object, now));
  }
  if (form == Form::kTable) return TableOf(kind, std::move(items), std::move(meta));
  const bool whole = form == Form::kObject;
  return Json::MakeObject(
      {{"kind", whole ? kind.list_kind : std::string("PartialObjectMetadataList")},
       {"apiVersion", whole ? kind.resource.api_version() : std::string("meta.k8s.io/v1")},
       {"metadata", std::move(meta)},
       {"items", std::move(items)}});
}

Outcome<Presentation> ReadPresentation(const ApiRequest& request) {
  Presentation presentation;
  const std::string& include = request.Param("includeObject");
  if (include == "Object") presentation.include = Presentation::Include::kObject;
  if (include == "None") presentation.include = Presentation::Include::kNothing;
  for (const std::string_view text : Split(request.accept, ',')) {
    const std::optional<Presentation::Form> form = FormOf(ReadRange(text));
    if (!form) continue;
    presentation.form = *form;
    return presentation;
  }
  return PlainRefusal(406, "NotAcceptable",
                      "only the following media types are accepted: application/json");
}

}  // namespace galen::api_sim
