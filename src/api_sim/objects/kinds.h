// The kinds that the API serves: built-in ones and those that CustomResourceDefinitions add.
// A Kind is an immutable value; the table belongs to the API's loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"
#include "kube/resource.h"

namespace galen::api_sim {

// One column of `kubectl get`, as additionalPrinterColumns describe it. Priority 0 always shows, 1
// with -o wide only. `type` is string, integer, number, boolean or date.
struct Column {
  std::string name;
  std::string type = "string";
  std::string format = {};
  std::string description = {};
  int priority = 0;
  std::string path = {};  // JSONPath into the object: ".spec.driver"; "" = made by code
};

// One kind in one version: its names, what it serves and its objects' rules.
struct Kind {
  kube::Resource resource;
  std::string singular;
  std::string list_kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> subresources;       // beside "status"
  std::vector<std::string> selectable_fields;  // besides metadata.name and metadata.namespace
  std::vector<Column> columns;                 // all of them, in order
  bool has_status = false;                     // status is written by its subresource only
  // Whether metadata.generation counts changes outside metadata and status.
  bool counts_generations = false;
  // Set for a kind of a CustomResourceDefinition, which is not built in.
  bool custom = false;
  bool needs_version_to_update = false;  // PUT must carry the resourceVersion
  bool put_creates = false;              // PUT of a missing object creates it
  Json schema = {};                      // structural, of the whole object; null: none is known

  // The collection of its objects, "GROUP/PLURAL": the same for all versions of a resource.
  std::string collection() const { return resource.group + "/" + resource.plural; }
  // The subject of a refusal about an object of this kind.
  Subject subject(std::string_view name = "") const {
    return {resource.group, resource.plural, resource.kind, std::string(name)};
  }
};
// Shared because requests and watches under way keep the kind that they began with.
using KindRef = std::shared_ptr<const Kind>;

// The present kinds. Few and read often; changed only when a definition is.
class KindTable {
 public:
  // With the built-in kinds.
  KindTable();

  // Adds it, or replaces the kind of the same group, version and plural.
  void Put(Kind kind);
  // Removes all versions of the kind. Nothing happens when there are none; its objects stay.
  void Remove(std::string_view group, std::string_view plural);

  // Null when it is not served.
  KindRef Find(std::string_view group, std::string_view version, std::string_view plural) const;
  // Some version of the kind stored there; null: none.
  KindRef FindCollection(std::string_view collection) const;
  bool HasVersion(std::string_view group, std::string_view version) const;
  // In order of group, plural and version, by their text.
  std::vector<KindRef> all() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // group, plural, version
  std::map<Key, KindRef> kinds_;
};

// The kinds that every cluster has (built_in_kinds.cc).
std::vector<Kind> BuiltInKinds();

}  // namespace galen::api_sim
