// Tested by tests/contract/table_test.cc.
#include "api_sim/storage/table.h"

#include "api_sim/objects/json_path.h"
#include "api_sim/storage/table_cells.h"

namespace galen::api_sim {
namespace {

// A time is shown as how long ago it was; what is no time is shown as it is.
Json AgeCell(const Json& value, WallTime now) {
  const StatusOr<WallTime> then = ParseRfc3339(value.AsString());
  if (!then.ok()) return value.is_null() ? Json("<unknown>") : value;
  return FormatAge(now - *then);
}

Json PathCell(const Column& column, const Json& object, WallTime now) {
  const std::vector<Json> found = EvaluateJsonPath(column.path, object);
  if (column.type == "date") return AgeCell(found.empty() ? Json() : found.front(), now);
  if (found.empty()) return nullptr;
  const Json& value = found.front();
  const bool matches = (column.type == "integer" || column.type == "number") ? value.is_number()
                       : column.type == "boolean"                            ? value.is_bool()
                                                                             : value.is_string();
  // As upstream's printer: a value of another type shows as nothing, except that a text column
  // takes anything, as JSON.
  if (matches || column.type != "string") return matches ? value : Json();
  return value.Dump();
}

}  // namespace

Json TableColumns(const Kind& kind) {
  Json columns = Json(Json::Array());
  for (const Column& column : kind.columns) {
    // Built-in kinds send their ages as text; for custom kinds upstream sends the column's own
    // type.
    const bool age = column.type == "date" && !kind.custom;
    columns.Append(Json::MakeObject({{"name", column.name},
                                     {"type", age ? std::string("string") : column.type},
                                     {"format", column.format},
                                     {"description", column.description},
                                     {"priority", column.priority}}));
  }
  return columns;
}

Json TableCells(const Kind& kind, const Json& object, WallTime now) {
  Json cells = Json(Json::Array());
  for (const Column& column : kind.columns) {
    cells.Append(column.path.empty() ? MadeCell(kind, column.name, object, now)
                                     : PathCell(column, object, now));
  }
  return cells;
}

}  // namespace galen::api_sim
