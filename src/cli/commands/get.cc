#include "cli/commands/get.h"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "base/data/yaml.h"
#include "cli/commands/why.h"
#include "cli/inspect/decode_all.h"
#include "kube/objects/resource_claim.h"

namespace galen::cli {
namespace {

struct View {
  std::function<Table(const Fleet&, const ViewOptions&)> table;
  std::function<Json(const Fleet&, const ViewOptions&)> json;
  std::string none;     // printed instead of an empty table
  std::string unnamed;  // the same of one name, "{}"
  // Columns that a narrow terminal can do without, the first to be dropped first.
  std::vector<std::string> spare;
  bool of_pods = false;
  std::function<Table(const Fleet&, const ViewOptions&)> brief = {};  // for narrow terminals
};

StatusOr<View> ViewOf(const std::string& kind) {
  static const std::map<std::string, std::string> kPlural = {
      {"device", "devices"}, {"dev", "devices"}, {"pod", "pods"},      {"po", "pods"},
      {"node", "nodes"},     {"no", "nodes"},    {"driver", "drivers"}};
  static const std::map<std::string, View> kViews = {
      {"devices",
       {.table = DevicesTable,
        .json = DevicesJson,
        .none = "no devices: no driver has published any",
        .unnamed = "no device is called {}: `galen get devices` lists their names",
        .spare = {"MODEL", "NODE", "DEADLINE", "SERIAL", "POOL", "DRIVER", "USED BY", "REASON"}}},
      {"pods",
       {.table = PodsTable,
        .json = PodsJson,
        .none = "no Pod{} holds a device",
        .unnamed = "no Pod {}{} holds a device: `galen get pods` lists them",
        .spare = {"MODEL", "DEADLINE", "SERIAL", "CLAIM", "DRIVER", "NODE", "REASON"},
        .of_pods = true,
        .brief = PodsInBrief}},
      {"nodes",
       {.table = NodesTable,
        .json = NodesJson,
        .none = "no node has reported: is galen-agent running on one?",
        .unnamed = "no node {} has reported: `galen get nodes` lists those that have",
        .spare = {"AGENT", "ROLE", "UP", "HEALTHY", "DEVICES"}}},
      {"drivers",
       {.table = DriversTable,
        .json = DriversJson,
        .none = "no drivers: no agent has reported any",
        .unnamed = "no agent has reported a driver {}: `galen get drivers` lists those known",
        .spare = {"ENDPOINT", "SERVICE", "FOR"}}}};
  const auto alias = kPlural.find(kind);
  const auto view = kViews.find(alias == kPlural.end() ? kind : alias->second);
  if (view != kViews.end()) return view->second;
  if (kind == "checks" || kind == "check") {
    return InvalidArgument("checks are shown once: `galen get checks`, on their node");
  }
  return InvalidArgument(
      "'{}' is nothing that galen can get: name devices, pods, nodes, drivers or checks", kind);
}

// InvalidArgument when `name` names a Pod of another namespace than -n does, or no Pod at all.
StatusOr<ViewOptions> Shown(const View& view, const Options& options, const std::string& name,
                            WallTime now) {
  ViewOptions shown{.wide = options.wide(), .ns = options.ns, .name = name, .now = now};
  if (!view.of_pods || name.empty()) return shown;
  // In the same forms as `galen why`, and as our own tables write it: NAMESPACE/NAME.
  ASSIGN_OR_RETURN(const ObjectKey pod, ParsePod(name, options.ns));
  shown.ns = pod.ns;
  shown.name = pod.name;
  return shown;
}

// The text for an empty table. NotFound when a name was given.
StatusOr<std::string> Nothing(const View& view, const ViewOptions& shown) {
  const std::string where = shown.ns.empty() ? "" : " in namespace " + shown.ns;
  if (shown.name.empty()) return fmt::format(fmt::runtime(view.none), where) + "\n";
  return NotFound("{}", fmt::format(fmt::runtime(view.unnamed), shown.name, where));
}

// Drops columns until the table fits, or no spare one is left; returns their names.
std::vector<std::string> Narrow(Table& table, const View& view, std::size_t columns) {
  std::vector<std::string> dropped;
  for (const std::string& name : view.spare) {
    if (table.Columns() <= columns) break;
    // Devices of different nodes may have the same name.
    if (name == "NODE" && !table.SaysOneThing(name)) continue;
    if (table.Drop(name)) dropped.push_back(name);
  }
  return dropped;
}

std::string DoNotFit(const std::vector<std::string>& names, std::size_t needed) {
  return fmt::format("{} {} not fit: {} (all need {} columns)\n", names.size(),
                     names.size() == 1 ? "column does" : "columns do", fmt::join(names, ", "),
                     needed);
}

template <typename T>
StatusOr<std::vector<T>> FetchAll(Session& session, const kube::Resource& resource,
                                  const std::string& ns, StatusOr<T> (*decode)(const Json&),
                                  std::vector<std::string>& notes) {
  ASSIGN_OR_RETURN(const std::vector<Json> objects, session.List(resource, ns));
  return DecodeAll<T>(objects, resource, decode, notes);
}

// Fetches objects that only show whether others are still current: without them the rest is shown,
// with a note.
template <typename T>
std::optional<std::vector<T>> FetchSign(Session& session, const kube::Resource& resource,
                                        const std::string& ns, StatusOr<T> (*decode)(const Json&),
                                        std::vector<std::string>& notes) {
  StatusOr<std::vector<T>> found = FetchAll<T>(session, resource, ns, decode, notes);
  if (found.ok()) return std::move(found).value();
  notes.push_back(fmt::format("{}; so a node that fell silent may be shown as it was",
                              found.status().message()));
  return std::nullopt;
}

}  // namespace

StatusOr<FetchedFleet> FetchFleet(Session& session, const std::string& ns) {
  FetchedFleet fleet;
  FleetObjects& objects = fleet.objects;
  std::vector<std::string>& notes = fleet.notes;
  ASSIGN_OR_RETURN(objects.pods,
                   FetchAll<kube::Pod>(session, kube::kPods, ns, kube::DecodePod, notes));
  ASSIGN_OR_RETURN(objects.claims,
                   FetchAll<Claim>(session, kube::kResourceClaims, ns, kube::DecodeClaim, notes));
  ASSIGN_OR_RETURN(objects.slices, FetchAll<kube::ResourceSlice>(session, kube::kResourceSlices, "",
                                                                 kube::DecodeSlice, notes));
  auto healths = FetchAll<kube::NodeDeviceHealth>(session, kube::kNodeDeviceHealths, "",
                                                  kube::DecodeNodeDeviceHealth, notes);
  // A cluster without our definition still has slices, claims and Pods to show.
  if (!healths.ok() && healths.status().code() != Code::kNotFound) return healths.status();
  objects.kind_missing = !healths.ok();
  if (objects.kind_missing) notes.emplace_back(kKindMissing);
  if (healths.ok()) objects.healths = std::move(healths).value();
  objects.signs.nodes = FetchSign<NodeReady>(session, kube::kNodes, "", DecodeNodeReady, notes);
  objects.signs.leases = FetchSign<NodeLease>(session, kube::kLeases, std::string(kNodeLeases),
                                              DecodeNodeLease, notes);
  return fleet;
}

StatusOr<Table> TableOf(const Fleet& fleet, const std::string& kind, const std::string& name,
                        const Options& options, WallTime now) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  ASSIGN_OR_RETURN(const ViewOptions shown, Shown(view, options, name, now));
  return view.table(fleet, shown);
}

StatusOr<Json> JsonOf(const Fleet& fleet, const std::string& kind, const std::string& name,
                      const Options& options) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  ASSIGN_OR_RETURN(const ViewOptions shown, Shown(view, options, name, {}));
  return view.json(fleet, shown);
}

StatusOr<std::string> Show(const Fleet& fleet, const std::string& kind, const std::string& name,
                           const Options& options, WallTime now) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  ASSIGN_OR_RETURN(const ViewOptions shown, Shown(view, options, name, now));
  const Table table = view.table(fleet, shown);
  // A script that misspells a name must not read that nothing is wrong with it.
  const bool missing = table.empty() && !shown.name.empty();
  if (options.output == "json" && !missing) return view.json(fleet, shown).DumpPretty(2) + "\n";
  if (options.output == "yaml" && !missing) return WriteYaml(view.json(fleet, shown));
  return table.empty() ? Nothing(view, shown) : table.Text(options.colour);
}

StatusOr<std::string> ShowLive(const Fleet& fleet, const std::string& kind, const std::string& name,
                               const Options& options, WallTime now, std::size_t columns) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  ASSIGN_OR_RETURN(const ViewOptions shown, Shown(view, options, name, now));
  Table table = view.table(fleet, shown);
  if (table.empty()) return Nothing(view, shown);
  const std::size_t needed = table.Columns();
  if (needed > columns && view.brief != nullptr && !options.wide()) {
    table = view.brief(fleet, shown);
  }
  const std::vector<std::string> dropped = Narrow(table, view, columns);
  std::string text = table.Text(options.colour);
  // With -o wide, names the dropped columns too.
  if (options.wide() && !dropped.empty()) text += "\n" + DoNotFit(dropped, needed);
  return text;
}

Status SplitKind(std::string& kind, std::string& name) {
  const std::size_t slash = kind.find('/');
  if (slash == std::string::npos) return OkStatus();
  if (slash + 1 == kind.size()) {
    return InvalidArgument("'{}' has no name after the slash: write {}/NAME, or {} for all", kind,
                           kind.substr(0, slash), kind.substr(0, slash));
  }
  if (!name.empty()) return InvalidArgument("'{}' has a name already: leave out '{}'", kind, name);
  name = kind.substr(slash + 1);
  kind.resize(slash);
  return OkStatus();
}

StatusOr<Answer> Get(const Options& options, std::string kind, std::string name) {
  RETURN_IF_ERROR(SplitKind(kind, name));
  if (kind == "check" || kind == "checks") return GetChecks(options, name);
  RETURN_IF_ERROR(ViewOf(kind).status());
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(auto session, Session::Open(*loop, options));
  ASSIGN_OR_RETURN(FetchedFleet fetched, FetchFleet(*session, ""));
  const WallTime now = session->loop().WallNow();
  ASSIGN_OR_RETURN(std::string text,
                   Show(JoinFleet(fetched.objects, now), kind, name, options, now));
  return Answer{.text = std::move(text), .notes = std::move(fetched.notes)};
}

}  // namespace galen::cli
