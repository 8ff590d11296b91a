// What is written to a pipe of a table that changes: at first all of it, then only the rows that
// are new, say something else or are gone, each identified by what it is about, not by how it is
// laid out. Values; free of threads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "cli/output/table.h"

namespace galen::cli {

// As lines of a table. A row that is gone says "gone" where its finding was.
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

// As JSON, an object a line, in the form of Kubernetes' watch events: {"object":…,"type":"ADDED"},
// "MODIFIED" or "DELETED".
class ItemChanges {
 public:
  // `document` is {"items": […]} of views.h.
  std::string Next(const Json& document);

 private:
  std::map<std::string, Json> shown_;
};

}  // namespace galen::cli
