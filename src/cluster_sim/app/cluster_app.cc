#include <optional>

#include "api_sim/serving/local_transport.h"
#include "cluster_sim/app/sim_app.h"
#include "cluster_sim/app/sim_credentials.h"
#include "cluster_sim/controllers/claim_controller.h"
#include "cluster_sim/controllers/cluster_view.h"
#include "cluster_sim/controllers/scheduler.h"

namespace galen::cluster_sim {
namespace {

constexpr const char* kControllersName = "system:kube-controller-manager";

// The headers for the controllers' requests. Without users everybody may access the API; otherwise
// the controllers are one more user with a private token.
StatusOr<net::Headers> AddControllers(api_sim::ApiServer::Options& options) {
  net::Headers headers{{"user-agent", kControllersName}};
  if (options.users_by_token.empty()) return headers;
  ASSIGN_OR_RETURN(const std::string token, MakeToken());
  options.users_by_token.emplace(token, api_sim::Administrator(kControllersName));
  headers.push_back({"authorization", "Bearer " + token});
  return headers;
}

}  // namespace

struct ClusterApp::Impl {
  // Parts in the order of their dependence; controllers listen to the view before it starts.
  Impl(Loop& loop, Random& random, Log& log, const Options& options, net::Headers headers,
       std::unique_ptr<api_sim::ApiServer> server)
      : api(std::move(server)),
        transport(loop, *api, std::move(headers)),
        client(loop, transport),
        view(loop, client, random, log),
        nodes(loop, view, client, random, log,
              options.preparation != nullptr ? *options.preparation : no_preparation) {
    if (!options.run_controllers) return;
    claims.emplace(loop, view, client, random, log);
    scheduler.emplace(loop, view, client, random, log);
  }

  // Used when no preparation was given; above `nodes`, which borrows it.
  NoPreparation no_preparation;
  std::unique_ptr<api_sim::ApiServer> api;
  api_sim::LocalTransport transport;
  kube::Client client;
  ClusterView view;
  SimulatedNodes nodes;
  std::optional<ClaimController> claims;
  std::optional<Scheduler> scheduler;
};

StatusOr<std::unique_ptr<ClusterApp>> ClusterApp::Create(Loop& loop, Random& random, Log& log,
                                                         Options options) {
  ASSIGN_OR_RETURN(net::Headers headers, AddControllers(options.api));
  ASSIGN_OR_RETURN(auto api, api_sim::ApiServer::Create(loop, random, log, std::move(options.api)));
  auto impl =
      std::make_unique<Impl>(loop, random, log, options, std::move(headers), std::move(api));
  for (SimulatedNodeOptions& node : options.nodes) {
    RETURN_IF_ERROR(impl->nodes.Add(std::move(node)));
  }
  // Last: listeners are called from here on.
  impl->view.Start();
  return std::unique_ptr<ClusterApp>(new ClusterApp(std::move(impl)));
}

ClusterApp::ClusterApp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClusterApp::~ClusterApp() = default;

net::HttpHandler& ClusterApp::api() { return *impl_->api; }
SimulatedNodes& ClusterApp::nodes() { return impl_->nodes; }
bool ClusterApp::ready() const { return impl_->view.synced(); }

}  // namespace galen::cluster_sim
