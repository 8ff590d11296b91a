#include "cli/get.h"

#include <functional>
#include <map>

#include "base/yaml.h"
#include "kube/objects/resource_claim.h"

namespace galen::cli {
namespace {

struct View {
  std::function<Table(const Fleet&, const ViewOptions&)> table;
  std::function<Json(const Fleet&, const ViewOptions&)> json;
  std::string none;  // what to say instead of an empty table
};

StatusOr<View> ViewOf(const std::string& kind) {
  static const std::map<std::string, std::string> kPlural = {
      {"device", "devices"}, {"dev", "devices"}, {"pod", "pods"},      {"po", "pods"},
      {"node", "nodes"},     {"no", "nodes"},    {"driver", "drivers"}};
  const auto alias = kPlural.find(kind);
  const std::string plural = alias == kPlural.end() ? kind : alias->second;
  if (plural == "devices")
    return View{DevicesTable, DevicesJson, "no devices: no driver has published any"};
  if (plural == "pods") return View{PodsTable, PodsJson, "no Pod holds a device"};
  if (plural == "nodes")
    return View{NodesTable, NodesJson, "no node has told: is galen-agent running on one?"};
  if (plural == "drivers")
    return View{DriversTable, DriversJson, "no drivers: no agent has told of any"};
  return InvalidArgument("galen knows no '{}': get devices, pods, nodes or drivers", kind);
}

template <typename T>
StatusOr<std::vector<T>> DecodeAll(const StatusOr<std::vector<Json>>& objects,
                                   const std::function<StatusOr<T>(const Json&)>& decode) {
  if (!objects.ok()) return objects.status();
  std::vector<T> decoded;
  for (const Json& object : *objects) {
    ASSIGN_OR_RETURN(T one, decode(object));
    decoded.push_back(std::move(one));
  }
  return decoded;
}

}  // namespace

StatusOr<FleetObjects> FetchFleet(Session& session, const std::string& ns) {
  FleetObjects objects;
  ASSIGN_OR_RETURN(objects.pods,
                   DecodeAll<kube::Pod>(session.List(kube::kPods, ns), kube::DecodePod));
  ASSIGN_OR_RETURN(objects.claims,
                   DecodeAll<Claim>(session.List(kube::kResourceClaims, ns), kube::DecodeClaim));
  ASSIGN_OR_RETURN(objects.slices, DecodeAll<kube::ResourceSlice>(
                                       session.List(kube::kResourceSlices, ""), kube::DecodeSlice));
  const auto healths = session.List(kube::kNodeDeviceHealths, "");
  // A cluster without our definition still has slices, claims and Pods to tell of.
  if (!healths.ok() && healths.status().code() == Code::kNotFound) return objects;
  ASSIGN_OR_RETURN(objects.healths,
                   DecodeAll<kube::NodeDeviceHealth>(healths, kube::DecodeNodeDeviceHealth));
  return objects;
}

StatusOr<std::string> Show(const Fleet& fleet, const std::string& kind, const std::string& name,
                           const Options& options, WallTime now) {
  ASSIGN_OR_RETURN(const View view, ViewOf(kind));
  const ViewOptions shown{.wide = options.wide(), .ns = options.ns, .name = name, .now = now};
  if (options.output == "json") return view.json(fleet, shown).DumpPretty(2) + "\n";
  if (options.output == "yaml") return WriteYaml(view.json(fleet, shown));
  const Table table = view.table(fleet, shown);
  if (!table.empty()) return table.Text(options.colour);
  if (!name.empty()) return NotFound("no {} of that name: {}", kind, name);
  return view.none + "\n";
}

StatusOr<std::string> Get(const Options& options, const std::string& kind,
                          const std::string& name) {
  RETURN_IF_ERROR(ViewOf(kind).status());
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(auto session, Session::Open(*loop, options));
  ASSIGN_OR_RETURN(const FleetObjects objects, FetchFleet(*session, ""));
  return Show(JoinFleet(objects), kind, name, options, session->loop().WallNow());
}

}  // namespace galen::cli
