// The forms in which a client may get objects: whole, as a table (for kubectl get), or only their
// metadata. Values; free of threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api_sim/objects/api_request.h"
#include "api_sim/objects/kinds.h"
#include "api_sim/storage/object_store.h"
#include "base/data/json.h"
#include "base/time.h"

namespace galen::api_sim {

struct Presentation {
  // Whole objects, a table, or only metadata.
  enum class Form { kObject, kTable, kMetadata };
  Form form = Form::kObject;
  // The part of its object that each row of a table contains.
  enum class Include { kMetadata, kObject, kNothing };
  Include include = Include::kMetadata;

  // The object in the form asked for: apiVersion of the kind's version, a table of one row, or a
  // PartialObjectMetadata. `now` gives ages.
  Json One(const Kind& kind, const Json& object, WallTime now) const;
  // The same for a list. `meta` is the list's own: resourceVersion, continue, remainingItemCount.
  Json Many(const Kind& kind, const std::vector<Snapshot>& objects, Json meta, WallTime now) const;
};

// From Accept and ?includeObject=. The first supported entry of Accept is used, without regard to
// q-values, which Kubernetes' clients do not send; 406 when there is none.
Outcome<Presentation> ReadPresentation(const ApiRequest& request);

// The output of `kubectl get`, a meta.k8s.io/v1 Table (table.cc): the kind's columns as
// columnDefinitions, in their order.
Json TableColumns(const Kind& kind);

// One cell for each column of the kind, null where there is nothing to show. `now` gives ages.
Json TableCells(const Kind& kind, const Json& object, WallTime now);

// ---- JSONPath as printer columns use it: ".spec.a", ".metadata.labels['a\.b']", ".list[0].x",
// ".list[-1]", ".list[*].x", ".conditions[?(@.type==\"Ready\")].status". Pure functions.

// The values at the path, in order; empty when there are none, or the path is invalid. Braces
// around the whole ("{.a}") are removed. No recursive descent, slices or unions: printer columns
// may not use them. A ']' inside a subscript ends it, even in quotes.
std::vector<Json> EvaluateJsonPath(std::string_view path, const Json& value);

}  // namespace galen::api_sim
