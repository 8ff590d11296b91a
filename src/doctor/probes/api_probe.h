// What the API server knows of this node: objects, gates, versions, rights. Reads only, all of it
// side by side; belongs to its loop.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/data/metrics_text.h"
#include "base/loop/loop.h"
#include "doctor/observations.h"
#include "kube/client.h"
#include "kube/request.h"
#include "net/http.h"

namespace galen::doctor {

// The few lines of a Kubernetes component's /metrics that are of interest: feature gates and the
// kubelet's plugins.
MetricsReader ComponentMetrics();
// kubernetes_feature_enabled; nullopt when the page has none, as of a version before 1.26.
std::optional<Gates> GatesOf(const MetricSamples& samples, std::string source);
// plugin_manager_total_plugins, by the registration socket.
std::map<std::string, PluginState> PluginsOf(const MetricSamples& samples);

// What the API server's answers say, as observations. Pure; everything absent is empty, because
// objects come from many versions.
StatusOr<KubernetesVersion> ReadVersion(const Json& version);  // of /version
// `date` is the header of an answer that was asked for at `asked` and came at `answered`.
// InvalidArgument when it is no date (RFC 9110, section 5.6.7).
StatusOr<ClockSeen> ReadClock(std::string_view date, WallTime asked, WallTime answered);
std::set<std::string> ReadGroupVersions(const Json& group);  // of /apis/GROUP
NodeSeen ReadNode(const Json& node);
LeaseSeen ReadLease(const Json& lease);
StatusOr<PodSeen> ReadPod(const Json& pod);
// What its spec says of its place on the node: priority, requests, tolerations, grace.
void ReadPlace(const Json& spec, PodSeen& pod);
DaemonSetSeen ReadDaemonSet(const Json& object);
// `node` is this node's name.
StatusOr<ClaimSeen> ReadClaim(const Json& claim, const std::string& node);
SlicePlace ReadSlicePlace(const Json& slice);
NodeHealthSeen ReadNodeHealth(const Json& object);
// Whether a SubjectAccessReview's answer allows it.
bool ReadAllowed(const Json& review);

// Claims whose devices all lie in pools of this node's slices are here, too: a claim that an older
// scheduler allocated names no node.
void MarkClaimsHere(std::vector<ClaimSeen>& claims, const std::vector<kube::ResourceSlice>& slices);
// Pods that claims of this node are reserved for and that are not among its Pods; each once.
std::vector<PodRef> FarPods(const std::vector<ClaimSeen>& claims, const std::vector<PodSeen>& pods);

// What galen-agent must be allowed to do, as data, and the questions by which the API server says
// whether somebody is (authorization.k8s.io/v1). Pure.
struct Right {
  std::string verb, group, resource, subresource;
  bool manager_only = false;
};
std::string ToString(const Right& right);  // "patch pods/status"

// A refusal by RBAC becomes "missing right: list pods", with the file that grants the right where
// one of ours does; any other status stays as it is.
Status ExplainRefusal(Status status);

// As deploy/galen.yaml and deploy/examples/manager.yaml give them; a test compares.
const std::vector<Right>& AgentRights();

// Whose rights are asked for: a service account's, or those of whoever asks.
struct Subject {
  std::string ns, account;  // both "" = the asker, whoever that is
  bool self = false;        // the asker is this service account

  bool asks_for_itself() const { return self || account.empty(); }
  std::string user() const;    // as the API server calls it; "" when no account is named
  std::string phrase() const;  // "service account galen-system/galen-agent"
};

// Who the asker is: a SelfSubjectReview, which everybody may make.
net::HttpRequest WhoAmIRequest();
// The user's name in its answer.
std::string ReadUser(const Json& review);

// A SubjectAccessReview, or a SelfSubjectAccessReview for the asker, in all namespaces.
net::HttpRequest ReviewRequest(const Right& right, const Subject& subject);

// The answer to an ApiCall.
struct PlainAnswer {
  Status status;  // OK for 200; else what the server or the way there said
  std::string date;
  std::string body;       // of text; "" of metrics
  MetricSamples samples;  // of metrics
  WallTime asked{}, answered{};
};

// One GET whose answer is read as it comes: headers, and metrics of which a few lines are wanted.
// Asks when it is made; destroying it cancels.
class ApiCall final : private net::HttpResponseSink {
 public:
  enum class Kind { kText, kMetrics };
  // `done` runs once, later; the call is kept until then and not destroyed by it. loop and client
  // are lent.
  ApiCall(Loop& loop, net::HttpClient& client, std::string path, Kind kind,
          std::function<void(PlainAnswer)> done);

  static constexpr Duration kWithin = std::chrono::seconds(20);
  static constexpr std::size_t kTextBytesMax = 1024 * 1024;
  // An API server of a large cluster shows some tens of megabytes.
  static constexpr std::size_t kMetricsBytesMax = std::size_t{256} << 20;

 private:
  void OnHead(int status, const net::Headers& headers) override;
  void OnData(std::string_view bytes) override;
  void OnEnd(const Status& status, const net::Headers& trailers) override;
  void Finish(Status status);

  Loop& loop_;
  const Kind kind_;
  std::function<void(PlainAnswer)> done_;
  PlainAnswer answer_;
  MetricsReader metrics_ = ComponentMetrics();
  int http_status_ = 0;
  std::size_t bytes_ = 0;
  std::unique_ptr<net::HttpCall> call_;
  Timer deadline_;
};

// Which node is asked about, and whose rights.
struct ApiProbeOptions {
  std::string node;
  std::optional<Subject> agent;  // whose rights; nullopt: those of the agent's Pod, else our own
  bool manager = false;          // the rights of that role, too
};

// Everything that only the API server knows could not be looked at, for this reason.
void NothingAsked(ApiSeen& seen, KubeletSeen& kubelet, const Status& why);

// One round of questions.
class ApiProbe {
 public:
  // What is lent outlives the probe; `seen` and `kubelet` are filled in until `done`, which runs
  // once, on the loop.
  ApiProbe(Loop& loop, net::HttpClient& transport, ApiProbeOptions options, ApiSeen& seen,
           KubeletSeen& kubelet, std::function<void()> done);

  // Asks for the version first: where that gets no answer, nothing else is asked for.
  void Start();

  static constexpr int kPage = 500;
  // Objects of one kind; of larger clusters the checks that need all of them say Unknown.
  static constexpr std::size_t kObjectsMax = 50'000;
  static constexpr std::size_t kFarPodsMax = 100;
  static constexpr std::size_t kDaemonSetsMax = 50;  // of one node; further ones are not asked for

 private:
  using Take = std::function<void(StatusOr<Json>)>;
  using Each = std::function<void(const Json&)>;

  void Ask(net::HttpRequest request, Take take);
  void AskPlain(const std::string& path, ApiCall::Kind kind, std::function<void(PlainAnswer)> take);
  // Every object of a kind; `each` for each, then `end` with OK or what went wrong.
  void AskAll(const kube::Resource& resource, const std::string& field, Each each,
              std::function<void(Status)> end);
  void AskPage(const kube::Resource& resource, kube::ListOptions page, std::size_t before,
               const Each& each, const std::function<void(Status)>& end);
  // Every object of a kind, read by `read`, into `into`.
  template <typename T, typename Read>
  void Gather(const kube::Resource& resource, const std::string& field, Seen<std::vector<T>>& into,
              Read read);
  // One object, read by `read`, into `into`.
  template <typename T, typename Read>
  void Fetch(net::HttpRequest request, Seen<T>& into, Read read);

  void TakeVersion(const PlainAnswer& answer);
  void AskObjects();
  void AskNodes();
  void AskGates();
  void AskRest();
  void AskFarPods();
  void AskDaemonSets();
  void AskRights();
  Subject SubjectOfAgent() const;
  void Finish();

  Loop& loop_;
  net::HttpClient& transport_;
  kube::Client client_;
  const ApiProbeOptions options_;
  ApiSeen& seen_;
  std::string user_;  // who we are to the API server; "" = not known
  KubeletSeen& kubelet_;
  const std::function<void()> done_;
  std::size_t open_ = 0;
  int stage_ = 0;  // 0 version, 1 objects, 2 what follows from them
  std::list<std::unique_ptr<net::HttpCall>> calls_;
  std::list<std::unique_ptr<ApiCall>> plain_calls_;
};

}  // namespace galen::doctor
