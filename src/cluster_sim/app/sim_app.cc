#include "cluster_sim/app/sim_app.h"

#include <fmt/ranges.h>

#include <set>

#include "base/text.h"
#include "cluster_sim/app/certificate_authority.h"
#include "cluster_sim/app/sim_credentials.h"
#include "net/endpoint/server.h"

namespace galen::cluster_sim {
namespace {

constexpr std::string_view kTcp = "tcp:";

// "127.0.0.1" of "127.0.0.1:6443", "::1" of "[::1]:6443"; "" when there is no port.
std::string HostOf(const std::string& listen) {
  const auto colon = listen.rfind(':');
  if (colon == std::string::npos || colon + 1 == listen.size()) return "";
  if (listen.find_first_not_of("0123456789", colon + 1) != std::string::npos) return "";
  if (colon >= 2 && listen.front() == '[' && listen[colon - 1] == ']') {
    return listen.substr(1, colon - 2);
  }
  const std::string host = listen.substr(0, colon);
  return host.find(':') == std::string::npos ? host : "";
}

// Decided by name, without a resolver; any other name needs --allow-remote.
bool IsLoopback(const std::string& host) {
  return host == "::1" || host == "localhost" || host.starts_with("127.");
}

std::vector<SimulatedNodeOptions> NodesOf(const SimOptions& options) {
  std::vector<SimulatedNodeOptions> nodes;
  const auto add = [&](std::string name) {
    nodes.push_back({.name = std::move(name), .pods_max = static_cast<int>(options.max_pods)});
  };
  for (std::int64_t i = 1; i <= options.node_count; ++i) add(fmt::format("node-{}", i));
  for (const std::string& name : options.nodes) add(name);
  for (const std::string& name : options.virtual_nodes) {
    // The label lets selectors distinguish them from simulated nodes.
    nodes.push_back({.name = name, .labels = {{"type", "virtual"}}, .is_virtual = true});
  }
  return nodes;
}

// Names are checked again by SimulatedNodes; here all faults are reported at once.
void CheckNodes(const SimOptions& options, std::vector<std::string>& faults) {
  constexpr auto kMost = static_cast<std::int64_t>(SimulatedNodes::kNodesMax);
  if (options.node_count < 0 || options.node_count > kMost) {
    faults.push_back(fmt::format("--nodes is {}, must be 0..{}", options.node_count, kMost));
  }
  for (const auto* names : {&options.nodes, &options.virtual_nodes}) {
    for (const std::string& name : *names) {
      if (IsDnsSubdomain(name)) continue;
      faults.push_back(fmt::format("\"{}\" is no node name: lower-case letters, digits, - and .",
                                   Printable(CutText(name, 64))));
    }
  }
  if (options.max_pods < 1 || options.max_pods > SimulatedNodes::kPodsPerNodeMax) {
    faults.push_back(fmt::format("--max-pods is {}, must be 1..{}", options.max_pods,
                                 SimulatedNodes::kPodsPerNodeMax));
  }
  if (options.node_count > kMost) return;
  std::set<std::string> names;
  for (const SimulatedNodeOptions& node : NodesOf(options)) {
    if (names.insert(node.name).second) continue;
    faults.push_back(fmt::format("node \"{}\" is named twice by --nodes, --node and --virtual-node",
                                 Printable(CutText(node.name, 64))));
  }
}

// The host that clients dial: 0.0.0.0 cannot be dialled.
std::string DialedHost(const std::string& host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  return host == "::" ? "::1" : host;
}

// `bound` is the server's real address, with the port that the system chose.
std::string UrlOf(const std::string& host, const std::string& bound) {
  const std::string port = bound.substr(bound.rfind(':') + 1);
  const bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("https://{}:{}", ipv6 ? "[" + host + "]" : host, port);
}

StatusOr<std::map<std::string, api_sim::User>> ReadUsers(FileSystem& files,
                                                         const std::string& path) {
  if (path.empty()) return std::map<std::string, api_sim::User>{};
  ASSIGN_OR_RETURN(const std::string text, files.Read(path));
  StatusOr<std::map<std::string, api_sim::User>> users = ParseTokenFile(text);
  if (!users.ok()) return Annotate(users.status(), "{}", path);
  return users;
}

StatusOr<net::ServerOptions> ServerFor(const std::string& listen, const std::string& host,
                                       const CertificateAuthority& authority, WallTime now) {
  // All names by which this machine can reach itself, and the one that was asked for.
  ASSIGN_OR_RETURN(CertificatePair pair,
                   authority.IssueServer({host, "localhost", "127.0.0.1", "::1"}, now));
  // One byte more than the API takes, so that the API and not the server explains the refusal.
  return net::ServerOptions{
      .address = std::string(kTcp) + listen,
      .tls = net::ServerTls{std::move(pair.certificate_pem), std::move(pair.key_pem)},
      .request_body_bytes_max = api_sim::ApiServer::kBodyBytesMax + 1};
}

ClusterApp::Options ClusterFor(const SimOptions& options,
                               std::map<std::string, api_sim::User> users, FileSystem& files) {
  ClusterApp::Options cluster{.api = {.users_by_token = std::move(users)},
                              .nodes = NodesOf(options)};
  if (!options.data_directory.empty()) {
    cluster.api.files = &files;
    cluster.api.data_directory = options.data_directory;
  }
  return cluster;
}

}  // namespace

void SimOptions::AddTo(Flags& flags) {
  flags.Add("--listen", listen, "Address of the API: host:port; port 0 takes a free one");
  flags.AddSwitch("--allow-remote", allow_remote, "Permit an address other than loopback");
  flags.Add("--data", data_directory, "Directory that keeps the state; without it, in memory only");
  flags.Add("--kubeconfig-out", kubeconfig_out,
            "Write an administrator's kubeconfig here, once the API serves");
  flags.Add("--token-file", token_file,
            "More users, who may do everything: lines of token,user,uid[,\"group1,group2\"]");
  flags.Add("--nodes", node_count, "How many nodes to simulate: node-1, node-2, ...");
  flags.Add("--node", nodes, "Simulate a node of this name (may be repeated)");
  flags.Add("--max-pods", max_pods, "How many Pods each simulated node takes");
  flags.Add("--virtual-node", virtual_nodes,
            "A node of this name whose Pods galen-agent runs (may be repeated)");
}

Status CheckOptions(const SimOptions& options) {
  std::vector<std::string> faults;
  const std::string host = HostOf(options.listen);
  if (host.empty()) {
    faults.push_back(fmt::format("--listen is \"{}\", want host:port", Printable(options.listen)));
  } else if (!IsLoopback(host) && !options.allow_remote) {
    faults.push_back(fmt::format(
        "--listen {} can be reached from other machines; --allow-remote permits that", host));
  }
  CheckNodes(options, faults);
  if (faults.empty()) return OkStatus();
  return InvalidArgument("{}", fmt::join(faults, "; "));
}

struct SimApp::Impl {
  std::unique_ptr<ClusterApp> cluster;
  std::unique_ptr<net::Server> server;  // destroyed before the cluster that it calls
  std::string url;
};

StatusOr<std::unique_ptr<SimApp>> SimApp::Start(IoLoop& loop, FileSystem& files, Random& random,
                                                Log& log, SimOptions options) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(auto users, ReadUsers(files, options.token_file));
  ASSIGN_OR_RETURN(const SimCredentials credentials,
                   LoadOrMakeCredentials(files, options.data_directory, loop.WallNow()));
  // Users exist from here on, so a token is required.
  users.emplace(credentials.admin_token, api_sim::Administrator("admin"));
  // The certificate and the kubeconfig name the host that clients dial.
  const std::string host = DialedHost(HostOf(options.listen));
  ASSIGN_OR_RETURN(net::ServerOptions server,
                   ServerFor(options.listen, host, *credentials.authority, loop.WallNow()));
  auto impl = std::make_unique<Impl>();
  ASSIGN_OR_RETURN(impl->cluster, ClusterApp::Create(loop, random, log,
                                                     ClusterFor(options, std::move(users), files)));
  ASSIGN_OR_RETURN(impl->server,
                   net::Server::Start(loop, log, std::move(server), impl->cluster->api()));
  impl->url = UrlOf(host, impl->server->address());
  if (!options.kubeconfig_out.empty()) {
    const std::string text = Kubeconfig(impl->url, credentials.authority->pair().certificate_pem,
                                        credentials.admin_token);
    // The file appears last, so a client that waits for it can dial at once; readable by its owner
    // only.
    RETURN_IF_ERROR(files.WriteAtomically(options.kubeconfig_out, text, 0600));
  }
  log.Info("the simulated API serves", {{"url", impl->url}});
  return std::unique_ptr<SimApp>(new SimApp(std::move(impl)));
}

SimApp::SimApp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SimApp::~SimApp() = default;

const std::string& SimApp::url() const { return impl_->url; }
ClusterApp& SimApp::cluster() { return *impl_->cluster; }

void SimApp::Stop(std::function<void()> done) { impl_->server->Drain(kDrain, std::move(done)); }

}  // namespace galen::cluster_sim
