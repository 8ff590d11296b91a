// The fleet in tables for people and JSON for programs. Pure.
#pragma once

#include <string>

#include "base/data/json.h"
#include "cli/fleet/fleet.h"
#include "cli/output/table.h"

namespace galen::cli {

// What to show of the fleet.
struct ViewOptions {
  bool wide = false;
  std::string ns;    // Pods of this namespace only; "" = all
  std::string name;  // the one of this name only; "" = all
  WallTime now{};

  bool Shows(const std::string& candidate) const { return name.empty() || name == candidate; }
};

// A row for each device, each device of a Pod, each node that reported, or each driver of such a
// node. Rows keep the fleet's order; columns for -o wide come last, except that DETAIL, a sentence,
// ends the line.
Table DevicesTable(const Fleet& fleet, const ViewOptions& options);
Table PodsTable(const Fleet& fleet, const ViewOptions& options);
// The same for a narrow terminal, without model and code.
Table PodsInBrief(const Fleet& fleet, const ViewOptions& options);
Table NodesTable(const Fleet& fleet, const ViewOptions& options);
Table DriversTable(const Fleet& fleet, const ViewOptions& options);

// The same as objects: {"items": [...]}; times in RFC 3339, states by name, complete.
Json DevicesJson(const Fleet& fleet, const ViewOptions& options);
Json PodsJson(const Fleet& fleet, const ViewOptions& options);
Json NodesJson(const Fleet& fleet, const ViewOptions& options);
Json DriversJson(const Fleet& fleet, const ViewOptions& options);

// Whether a health source reports for a driver that the node does not have.
bool LacksDriver(const kube::NodeDriver& driver);

}  // namespace galen::cli
