#include "cli/get.h"

#include <functional>
#include <map>

#include "base/yaml.h"
#include "cli/decode_all.h"
#include "kube/objects/resource_claim.h"

namespace galen::cli {
namespace {

struct View {
  std::function<Table(const Fleet&, const ViewOptions&)> table;
  std::function<Json(const Fleet&, const ViewOptions&)> json;
  std::string none;  // what to say instead of an empty table
  std::function<Table(const Fleet&, const ViewOptions&)> brief = {};  // for narrow terminals
};

StatusOr<View> ViewOf(const std::string& kind) {
  static const std::map<std::string, std::string> kPlural = {
      {"device", "devices"}, {"dev", "devices"}, {"pod", "pods"},      {"po", "pods"},
      {"node", "nodes"},     {"no", "nodes"},    {"driver", "drivers"}};
  const auto alias = kPlural.find(kind);
  const std::string plural = alias == kPlural.end() ? kind : alias->second;
  if (plural == "devices")
    return View{DevicesTable, DevicesJson, "no devices: no driver has published any"};
  if (plural == "pods") return View{PodsTable, PodsJson, "no Pod holds a device", PodsInBrief};
  if (plural == "nodes")
    return View{NodesTable, NodesJson, "no node has told: is galen-agent running on one?"};
  if (plural == "drivers")
    return View{DriversTable, DriversJson, "no drivers: no agent has told of any"};
  return InvalidArgument("galen knows no '{}': get devices, pods, nodes or drivers", kind);
}

ViewOptions Shown(const Options& options, const std::string& name, WallTime now) {
  return {.wide = options.wide(), .ns = options.ns, .name = name, .now = now};
}

template <typename T>
StatusOr<std::vector<T>> FetchAll(Session& session, const kube::Resource& resource,
                                  const std::string& ns, StatusOr<T> (*decode)(const Json&),
                                  std::vector<std::string>& notes) {
  ASSIGN_OR_RETURN(const std::vector<Json> objects, session.List(resource, ns));
  return DecodeAll<T>(objects, resource, decode, notes);
}

// What only tells whether the rest still holds: without it the rest is shown, and said to be so.
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
  // A cluster without our definition still has slices, claims and Pods to tell of.
  if (!healths.ok() && healths.status().code() != Code::kNotFound) return healths.status();
  if (healths.ok()) objects.healths = std::move(healths).value();
  objects.signs.nodes = FetchSign<NodeReady>(session, kube::kNodes, "", DecodeNodeReady, notes);
  objects.signs.leases = FetchSign<NodeLease>(session, kube::kLeases, std::string(kNodeLeases),
                                              DecodeNodeLease, notes);
  return fleet;
}

StatusOr<Table> TableOf(const Fleet& fleet, const std::string& kind, const std::string& name,
                        const Options& options, WallTime now) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  return view.table(fleet, Shown(options, name, now));
}

StatusOr<Json> JsonOf(const Fleet& fleet, const std::string& kind, const std::string& name,
                      const Options& options) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  return view.json(fleet, Shown(options, name, {}));
}

StatusOr<std::string> Show(const Fleet& fleet, const std::string& kind, const std::string& name,
                           const Options& options, WallTime now) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  const ViewOptions shown = Shown(options, name, now);
  if (options.output == "json") return view.json(fleet, shown).DumpPretty(2) + "\n";
  if (options.output == "yaml") return WriteYaml(view.json(fleet, shown));
  const Table table = view.table(fleet, shown);
  if (!table.empty()) return table.Text(options.colour);
  if (!name.empty()) return NotFound("no {} of that name: {}", kind, name);
  return view.none + "\n";
}

StatusOr<std::string> ShowLive(const Fleet& fleet, const std::string& kind, const std::string& name,
                               const Options& options, WallTime now, std::size_t columns) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  const ViewOptions shown = Shown(options, name, now);
  const bool too_wide = view.table(fleet, shown).Columns() > columns;
  if (view.brief == nullptr || options.wide() || !too_wide) {
    return Show(fleet, kind, name, options, now);
  }
  const Table brief = view.brief(fleet, shown);
  return brief.empty() ? Show(fleet, kind, name, options, now) : brief.Text(options.colour);
}

StatusOr<Answer> Get(const Options& options, const std::string& kind, const std::string& name) {
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
