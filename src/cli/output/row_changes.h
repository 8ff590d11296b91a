// A changing table for a pipe: first all of it, then only rows that are new, changed or gone. Rows
// are identified by their object, not by their layout. Values; free of threads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "cli/output/table.h"

namespace galen::cli {

// As lines of a table. A removed row has "gone" in place of its finding.
class RowChanges {
 public:
  // The lines to print now, "" when nothing changed. The header comes with the first row; columns
  // only ever grow wider.
  std::string Next(const Table& table);

 private:
  std::map<std::string, Table::Row> shown_;
  Table::Widths widths_;
  bool begun_ = false;
};

// As JSON, one object for each line, in the form of Kubernetes' watch events:
// {"object":…,"type":"ADDED"}, "MODIFIED" or "DELETED".
class ItemChanges {
 public:
  // `document` is {"items": […]} of views.h.
  std::string Next(const Json& document);

 private:
  std::map<std::string, Json> shown_;
};

}  // namespace galen::cli
