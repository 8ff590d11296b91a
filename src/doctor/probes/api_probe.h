// What the API server knows of this node: objects, gates, versions, rights. Only reads, with
// requests in parallel; belongs to its loop.
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

// Reads the few relevant lines of a Kubernetes component's /metrics: feature gates and the
// kubelet's plugins.
MetricsReader ComponentMetrics();
// From kubernetes_feature_enabled; nullopt when the page has none, as before 1.26.
std::optional<Gates> GatesOf(const MetricSamples& samples, std::string source);
// From plugin_manager_total_plugins, by registration socket.
std::map<std::string, PluginState> PluginsOf(const MetricSamples& samples);

// Decoders of the API server's answers. Pure; everything absent is empty, because objects come from
// many versions.
StatusOr<KubernetesVersion> ReadVersion(const Json& version);  // of /version
// `date` is the header of an answer that was asked for at `asked` and came at `answered`.
// InvalidArgument when it is no date (RFC 9110, section 5.6.7).
StatusOr<ClockSeen> ReadClock(std::string_view date, WallTime asked, WallTime answered);
std::set<std::string> ReadGroupVersions(const Json& group);  // of /apis/GROUP
NodeSeen ReadNode(const Json& node);
LeaseSeen ReadLease(const Json& lease);
StatusOr<PodSeen> ReadPod(const Json& pod);
// Reads how the Pod is placed on the node: priority, requests, tolerations, grace period.
void ReadPlace(const Json& spec, PodSeen& pod);
DaemonSetSeen ReadDaemonSet(const Json& object);
// `node` is this node's name.
StatusOr<ClaimSeen> ReadClaim(const Json& claim, const std::string& node);
SlicePlace ReadSlicePlace(const Json& slice);
NodeHealthSeen ReadNodeHealth(const Json& object);
// Whether a SubjectAccessReview's answer allows it.
bool ReadAllowed(const Json& review);

// Marks claims whose devices all lie in pools of this node's slices as local too: a claim that an
// older scheduler allocated names no node.
void MarkClaimsHere(std::vector<ClaimSeen>& claims, const std::vector<kube::ResourceSlice>& slices);
// Pods that claims of this node are reserved for and that are not among its Pods; each once.
std::vector<PodRef> FarPods(const std::vector<ClaimSeen>& claims, const std::vector<PodSeen>& pods);

// A right that galen-agent needs, and the review by which the API server says whether an account
// has it (authorization.k8s.io/v1). Pure.
struct Right {
  std::string verb, group, resource, subresource;
  bool manager_only = false;
};
std::string ToString(const Right& right);  // "patch pods/status"

// A refusal by RBAC becomes "missing right: list pods", with the deploy/ file that grants the
// right, if there is one; any other status stays as it is.
Status ExplainRefusal(Status status);

// As deploy/galen.yaml and deploy/examples/manager.yaml give them; a test compares.
const std::vector<Right>& AgentRights();

// Whose rights are reviewed: a service account's, or the caller's own.
struct Subject {
  std::string ns, account;  // both "" = the asker, whoever that is
  bool self = false;        // the asker is this service account

  bool asks_for_itself() const { return self || account.empty(); }
  std::string user() const;    // as the API server calls it; "" when no account is named
  std::string phrase() const;  // "service account galen-system/galen-agent"
};

// A SelfSubjectReview, which everybody may make, for the caller's name.
net::HttpRequest WhoAmIRequest();
// The user name in its answer.
std::string ReadUser(const Json& review);

// A SubjectAccessReview, or a SelfSubjectAccessReview for the asker, in all namespaces.
net::HttpRequest ReviewRequest(const Right& right, const Subject& subject);

// The answer to an ApiCall.
struct PlainAnswer {
  Status status;  // OK for 200; else the server's or the connection's error
  std::string date;
  std::string body;       // of text; "" of metrics
  MetricSamples samples;  // for metrics
  WallTime asked{}, answered{};
};

// One GET whose answer is streamed: headers, and metrics of which a few lines are kept. Sent when
// it is made; destroying it cancels.
class ApiCall final : private net::HttpResponseSink {
 public:
  // How the answer is read.
  enum class Kind { kText, kMetrics };
  // `done` runs once, later; the call must exist until then, and `done` must not destroy it. loop
  // and client are borrowed.
  ApiCall(Loop& loop, net::HttpClient& client, std::string path, Kind kind,
          std::function<void(PlainAnswer)> done);

  static constexpr Duration kWithin = std::chrono::seconds(20);
  static constexpr std::size_t kTextBytesMax = 1024 * 1024;
  // An API server of a large cluster returns some tens of megabytes.
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
  // whose rights; nullopt: those of the agent's Pod, else the caller's own
  std::optional<Subject> agent;
  bool manager = false;  // also that role's rights
};

// Marks everything that only the API server knows as not looked at, for this reason.
void NothingAsked(ApiSeen& seen, KubeletSeen& kubelet, const Status& why);

// One round of requests.
class ApiProbe {
 public:
  // The arguments outlive the probe; `seen` and `kubelet` are filled in until `done`, which runs
  // once, on the loop.
  ApiProbe(Loop& loop, net::HttpClient& transport, ApiProbeOptions options, ApiSeen& seen,
           KubeletSeen& kubelet, std::function<void()> done);

  // Asks for the version first: without an answer, nothing else is asked for.
  void Start();

  static constexpr int kPage = 500;
  // The most objects of one kind; in larger clusters the checks that need all of them are Unknown.
  static constexpr std::size_t kObjectsMax = 50'000;
  static constexpr std::size_t kFarPodsMax = 100;
  static constexpr std::size_t kDaemonSetsMax = 50;  // of one node; further ones are not asked for

 private:
  using Take = std::function<void(StatusOr<Json>)>;
  using Each = std::function<void(const Json&)>;

  void Ask(net::HttpRequest request, Take take);
  void AskPlain(const std::string& path, ApiCall::Kind kind, std::function<void(PlainAnswer)> take);
  // Reads every object of a kind; calls `each` for each, then `end` with OK or the error.
  void AskAll(const kube::Resource& resource, const std::string& field, Each each,
              std::function<void(Status)> end);
  void AskPage(const kube::Resource& resource, kube::ListOptions page, std::size_t before,
               const Each& each, const std::function<void(Status)>& end);
  // Reads every object of a kind by `read` into `into`.
  template <typename T, typename Read>
  void Gather(const kube::Resource& resource, const std::string& field, Seen<std::vector<T>>& into,
              Read read);
  // Reads one object by `read` into `into`.
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
  int stage_ = 0;  // 0 version, 1 objects, 2 what depends on them
  std::list<std::unique_ptr<net::HttpCall>> calls_;
  std::list<std::unique_ptr<ApiCall>> plain_calls_;
};

}  // namespace galen::doctor
