#include "api_sim/serving/api_server.h"

#include <fmt/format.h>

#include "api_sim/objects/custom_definition.h"
#include "api_sim/objects/object_meta.h"
#include "api_sim/serving/body.h"
#include "api_sim/serving/discovery.h"
#include "api_sim/serving/resource_api.h"
#include "api_sim/storage/event_expiry.h"
#include "api_sim/storage/store_log.h"
#include "api_sim/storage/watch_hub.h"

namespace galen::api_sim {
namespace {

// Collections are named "GROUP/PLURAL", see Kind::collection().
constexpr const char* kDefinitions = "apiextensions.k8s.io/customresourcedefinitions";
constexpr std::string_view kJsonType = "application/json";

// Served without authentication: probes of a load balancer or of `kubectl` have no user.
bool IsHealthPath(const std::string& path) {
  return path == "/healthz" || path == "/readyz" || path == "/livez" ||
         path.rfind("/readyz/", 0) == 0 || path.rfind("/livez/", 0) == 0;
}

// Sends the refusal as a metav1.Status. Clients wait by the header, not by the body's details.
void Refuse(net::HttpExchange& exchange, const Refusal& refusal) {
  net::Headers headers{{"content-type", std::string(kJsonType)}};
  const std::int64_t after = refusal.details["retryAfterSeconds"].AsInt();
  if (after > 0) headers.push_back({"retry-after", std::to_string(after)});
  if (refusal.code == 401) headers.push_back({"www-authenticate", "Bearer realm=\"galen\""});
  exchange.Head(refusal.code, std::move(headers));
  exchange.Write(ToStatusObject(refusal).Dump());
  exchange.End();
}

// Sends the result. Warnings are sent in headers as in RFC 7234, section 5.5, with code 299;
// kubectl prints them.
void Answer(net::HttpExchange& exchange, const Written& written) {
  net::Headers headers{{"content-type", std::string(kJsonType)}};
  for (const std::string& warning : written.warnings) {
    std::string quoted;
    for (const char c : warning) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    headers.push_back({"warning", fmt::format("299 - \"{}\"", quoted)});
  }
  exchange.Head(written.code, std::move(headers));
  exchange.Write(written.object.Dump());
  exchange.End();
}

Act ActOf(const ApiRequest& request) {
  std::string resource = request.plural;
  if (!request.subresource.empty()) resource += "/" + request.subresource;
  return {ResourceApi::VerbOf(request), request.group, std::move(resource), request.ns,
          request.name};
}

// Reviews are requests in the form of objects: posted and answered, never stored. So they are not
// in the kind table.
bool IsReview(const ApiRequest& request) {
  return request.method == "POST" &&
         (request.group == "authorization.k8s.io" || request.group == "authentication.k8s.io") &&
         (request.version == "v1" || request.version == "v1beta1");
}

// A later start without stored state begins above all versions of an earlier run, so that a client
// of that run gets a 410 instead of a gap. A wall clock that went back breaks this; the hub then
// still refuses versions of the future.
std::uint64_t FirstVersion(WallTime now) {
  constexpr std::int64_t kWritesPerSecond = 100;  // more than a server makes on average
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  return static_cast<std::uint64_t>(seconds.count() * kWritesPerSecond);
}

}  // namespace

struct ApiServer::Impl {
  Impl(Loop& loop_in, Random& random_in, Log& log_in, Options options_in)
      : loop(loop_in),
        random(random_in),
        log(log_in),
        options(std::move(options_in)),
        access(options.users_by_token),
        store(
            {.first_version = FirstVersion(loop_in.WallNow()), .history_max = options.history_max}),
        hub(loop_in, store) {}

  // Loads the stored state, then adds the listeners. Once, before the first request.
  Status Load();
  // Updates the kind table after a CustomResourceDefinition was written or removed.
  void OnDefinition(const Change& change);
  // Creates the namespaces that kube-apiserver creates at its start, if missing.
  void AddNamespaces();
  void HandleResource(const ApiRequest& request, const User& user,
                      std::unique_ptr<net::HttpExchange> exchange);
  Outcome<Written> DoReview(const ApiRequest& request, const User& user) const;

  // In the order of their dependencies: later members use earlier ones.
  Loop& loop;
  Random& random;
  Log& log;
  const Options options;
  const Access access;
  KindTable kinds;
  ObjectStore store;
  WatchHub hub;
  std::unique_ptr<StoreLog> kept;  // null: in memory only
  std::unique_ptr<ResourceApi> resources;
  std::unique_ptr<EventExpiry> events;
};

Status ApiServer::Impl::Load() {
  if (options.files != nullptr) {
    ASSIGN_OR_RETURN(kept,
                     StoreLog::Open(loop, *options.files, log, options.data_directory, store));
  }
  // Before the listener is added: loading calls no listener, so stored definitions are read here.
  for (const Snapshot& definition : store.List(kDefinitions, "")) {
    for (Kind& kind : KindsOf(*definition)) kinds.Put(std::move(kind));
  }
  store.AddListener([this](const std::string& collection, const Change& change) {
    if (collection == kDefinitions) OnDefinition(change);
  });
  resources = std::make_unique<ResourceApi>(loop, random, store, kinds);
  events = std::make_unique<EventExpiry>(loop, store);
  AddNamespaces();
  return OkStatus();
}

void ApiServer::Impl::OnDefinition(const Change& change) {
  // After a removal the former object has the data.
  const Json& spec = (change.after != nullptr ? *change.after : *change.before)["spec"];
  const std::string& group = spec["group"].AsString();
  const std::string& plural = spec["names"]["plural"].AsString();
  // All versions first: one that is no longer served must be removed.
  kinds.Remove(group, plural);
  if (change.after != nullptr) {
    for (Kind& kind : KindsOf(*change.after)) kinds.Put(std::move(kind));
    return;
  }
  const std::string collection = group + "/" + plural;
  // Objects of a removed kind cannot be reached; they are removed in spite of finalizers.
  for (const Snapshot& object : store.List(collection, "")) {
    store.Remove(collection, KeyOf(*object));
  }
  hub.EndAll(collection);
}

void ApiServer::Impl::AddNamespaces() {
  const KindRef kind = kinds.Find("", "v1", "namespaces");
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    if (store.Get(kind->collection(), {"", name}) != nullptr) continue;
    const ApiRequest request{
        .method = "POST",
        .path = {},
        .query = {},
        .body = Json::MakeObject({{"metadata", Json::MakeObject({{"name", name}})}}).Dump(),
        .content_type = std::string(kJsonType),
        .accept = {},
        .user_agent = "galen-sim",
        .is_resource = true,
        .group = {},
        .version = "v1",
        .ns = {},
        .plural = "namespaces",
        .name = {},
        .subresource = {}};
    // By an ordinary request, so that they get uid, labels and phase like any other.
    const auto created = resources->Do(request, kind);
    GALEN_CHECK(created.ok());
  }
}

void ApiServer::Impl::HandleResource(const ApiRequest& request, const User& user,
                                     std::unique_ptr<net::HttpExchange> exchange) {
  const Act act = ActOf(request);
  // Before rights are checked: every user may ask about itself.
  if (IsReview(request)) {
    const Outcome<Written> review = DoReview(request, user);
    return review.ok() ? Answer(*exchange, *review) : Refuse(*exchange, review.status());
  }
  // Rights before existence, so that the answer does not show which kinds or objects exist.
  if (!Access::MayDo(user, act)) return Refuse(*exchange, DeniedRefusal(user, act));
  const KindRef kind = kinds.Find(request.group, request.version, request.plural);
  if (kind == nullptr) {
    return Refuse(*exchange, PlainRefusal(404, "NotFound",
                                          "the server could not find the requested resource"));
  }
  Outcome<ResourceApi::Answer> answer = resources->Do(request, kind);
  if (!answer.ok()) {
    // Logged for the operator of this API, since a driver's retries may go unnoticed.
    if (answer.status().code == 415) {
      log.Warning("a request in a format that is not read here was refused",
                  {{"path", request.path},
                   {"contentType", request.content_type},
                   {"error", answer.status().message}});
    }
    return Refuse(*exchange, answer.status());
  }
  ResourceApi::Answer done = *std::move(answer);
  if (auto* watch = std::get_if<WatchHub::Spec>(&done)) {
    return hub.Start(std::move(*watch), std::move(exchange));
  }
  Answer(*exchange, std::get<Written>(done));
}

Outcome<Written> ApiServer::Impl::DoReview(const ApiRequest& request, const User& user) const {
  ASSIGN_OR_RETURN(const Json body, ReadBody(request));
  Json answer = AnswerReview(user, request.plural, body);
  if (answer.is_null()) {
    return PlainRefusal(404, "NotFound", "the server could not find the requested resource");
  }
  return Written{201, std::move(answer), {}};
}

StatusOr<std::unique_ptr<ApiServer>> ApiServer::Create(Loop& loop, Random& random, Log& log,
                                                       Options options) {
  auto impl = std::make_unique<Impl>(loop, random, log, std::move(options));
  RETURN_IF_ERROR(impl->Load());
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

std::size_t ApiServer::watchers() const { return impl_->hub.watchers(); }

void ApiServer::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  const ApiRequest request = ReadApiRequest(exchange->request());
  // Before authentication, see IsHealthPath.
  if (IsHealthPath(request.path)) return net::Respond(*exchange, 200, "text/plain", "ok");
  const Outcome<User> user = impl_->access.Authenticate(exchange->request().headers);
  if (!user.ok()) return Refuse(*exchange, user.status());
  // The server in front takes one byte more than this, so that a body too large ends here.
  if (request.body.size() > kBodyBytesMax) {
    return Refuse(*exchange, PlainRefusal(413, "RequestEntityTooLarge",
                                          fmt::format("the body is {} bytes, at most {} are taken",
                                                      request.body.size(), kBodyBytesMax)));
  }
  if (request.is_resource) return impl_->HandleResource(request, *user, std::move(exchange));
  const auto found = Discover(request, impl_->kinds, impl_->options.git_version);
  if (!found) {
    return Refuse(*exchange, PlainRefusal(404, "NotFound",
                                          "the server could not find the requested resource"));
  }
  net::Respond(*exchange, 200, found->content_type, found->body);
}

}  // namespace galen::api_sim
