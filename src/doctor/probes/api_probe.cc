#include "doctor/probes/api_probe.h"

#include <memory>
#include <utility>

#include "kube/client.h"

namespace galen::doctor {
namespace {

constexpr char kLeaseNamespace[] = "kube-node-lease";

}  // namespace

ApiCall::ApiCall(Loop& loop, net::HttpClient& client, std::string path, Kind kind,
                 std::function<void(PlainAnswer)> done)
    : loop_(loop), kind_(kind), done_(std::move(done)) {
  answer_.asked = loop.WallNow();
  call_ = client.Send({.path = std::move(path)}, *this);
  deadline_ = loop.After(kWithin, [this] { Finish(DeadlineExceeded("no answer in 20 s")); });
}

void ApiCall::OnHead(int status, const net::Headers& headers) {
  http_status_ = status;
  answer_.answered = loop_.WallNow();
  if (const auto date = net::FindHeader(headers, "date")) answer_.date = *date;
}

void ApiCall::OnData(std::string_view bytes) {
  bytes_ += bytes.size();
  const bool metrics = kind_ == Kind::kMetrics && http_status_ == 200;
  if (bytes_ > (metrics ? kMetricsBytesMax : kTextBytesMax)) {
    return Finish(ResourceExhausted("the answer is too large"));
  }
  if (metrics) {
    metrics_.Take(bytes);
  } else {
    answer_.body += bytes;
  }
}

void ApiCall::OnEnd(const Status& status, const net::Headers&) {
  if (!status.ok()) return Finish(status);
  if (http_status_ != 200) {
    return Finish(ExplainRefusal(kube::StatusOfResponse(http_status_, answer_.body)));
  }
  if (kind_ != Kind::kMetrics) return Finish(OkStatus());
  StatusOr<MetricSamples> samples = metrics_.End();
  const Status read = samples.status();
  if (read.ok()) answer_.samples = *std::move(samples);
  Finish(read);
}

void ApiCall::Finish(Status status) {
  if (!done_) return;
  call_.reset();
  deadline_.Cancel();
  answer_.status = std::move(status);
  std::exchange(done_, nullptr)(std::move(answer_));
}

void NothingAsked(ApiSeen& seen, KubeletSeen& kubelet, const Status& why) {
  seen.version = why;
  seen.clock = why;
  seen.dra_versions = why;
  seen.gates = why;
  seen.node = why;
  seen.lease = why;
  seen.slices = why;
  seen.all_slices = why;
  seen.nodes = why;
  seen.pods = why;
  seen.claims = why;
  seen.health_served = why;
  seen.health = why;
  kubelet.plugins = why;
}

ApiProbe::ApiProbe(Loop& loop, net::HttpClient& transport, ApiProbeOptions options, ApiSeen& seen,
                   KubeletSeen& kubelet, std::function<void()> done)
    : loop_(loop),
      transport_(transport),
      client_(loop, transport),
      options_(std::move(options)),
      seen_(seen),
      kubelet_(kubelet),
      done_(std::move(done)) {}

void ApiProbe::Start() {
  AskPlain("/version", ApiCall::Kind::kText, [this](PlainAnswer answer) { TakeVersion(answer); });
}

void ApiProbe::TakeVersion(const PlainAnswer& answer) {
  if (answer.status.ok()) {
    const StatusOr<Json> json = Json::Parse(answer.body);
    seen_.version = json.ok() ? ReadVersion(*json) : json.status();
  } else {
    seen_.version = answer.status;
  }
  if (!seen_.version.ok()) NothingAsked(seen_, kubelet_, seen_.version.status());
  // A refusal carries the server's time as well.
  if (!answer.date.empty()) {
    seen_.clock = ReadClock(answer.date, answer.asked, answer.answered);
  } else if (seen_.version.ok()) {
    // A header that every server with a clock should send (RFC 9110, 6.6.1); the embedded API and
    // some proxies do not.
    seen_.clock = NotFound("the API server's answers have no header Date");
  }
}

void ApiProbe::AskObjects() {
  const std::string here = "spec.nodeName=" + options_.node;
  Fetch(kube::Get(kube::kNodes, "", options_.node), seen_.node, ReadNode);
  Fetch(kube::Get(kube::kLeases, kLeaseNamespace, options_.node), seen_.lease, ReadLease);
  Fetch(kube::Get(kube::kNodeDeviceHealths, "", options_.node), seen_.health, ReadNodeHealth);
  Fetch(net::HttpRequest{.path = "/apis/resource.k8s.io"}, seen_.dra_versions, ReadGroupVersions);
  Fetch(net::HttpRequest{.path = "/apis/galen.dev/v1alpha1"}, seen_.health_served,
        [](const Json&) { return true; });
  Gather(kube::kPods, here, seen_.pods, ReadPod);
  Gather(kube::kResourceSlices, here, seen_.slices, kube::DecodeSlice);
  Gather(kube::kResourceSlices, "", seen_.all_slices,
         [](const Json& slice) { return StatusOr<SlicePlace>(ReadSlicePlace(slice)); });
  Gather(kube::kResourceClaims, "", seen_.claims,
         [this](const Json& claim) { return ReadClaim(claim, options_.node); });
  AskNodes();
  Ask(WhoAmIRequest(), [this](StatusOr<Json> answer) {
    if (answer.ok()) user_ = ReadUser(*answer);
  });
}

void ApiProbe::AskNodes() {
  seen_.nodes = std::set<std::string>();
  AskAll(
      kube::kNodes, "",
      [this](const Json& node) { seen_.nodes->insert(node["metadata"]["name"].AsString()); },
      [this](Status status) {
        if (!status.ok()) seen_.nodes = std::move(status);
      });
}

// Reads the kubelet's page through the API server, which may be allowed to ask it when doctor is
// not.
void ApiProbe::AskGates() {
  AskPlain("/metrics", ApiCall::Kind::kMetrics, [this](const PlainAnswer& answer) {
    seen_.gates = answer.status.ok() ? NotFound("the API server's /metrics names no gates")
                                     : Annotate(answer.status, "the API server's /metrics");
    if (auto gates = GatesOf(answer.samples, "the API server's /metrics")) seen_.gates = *gates;
  });
  AskPlain("/api/v1/nodes/" + options_.node + "/proxy/metrics", ApiCall::Kind::kMetrics,
           [this](const PlainAnswer& answer) {
             if (!answer.status.ok()) {
               kubelet_.plugins = Annotate(answer.status, "the kubelet's /metrics");
               return;
             }
             kubelet_.plugins = PluginsOf(answer.samples);
             // Otherwise the gates of its configuration stay.
             if (auto gates = GatesOf(answer.samples, "the kubelet's /metrics")) {
               kubelet_.gates = *gates;
             }
           });
}

void ApiProbe::AskRest() {
  if (seen_.claims.ok() && seen_.slices.ok()) MarkClaimsHere(*seen_.claims, *seen_.slices);
  AskFarPods();
  AskDaemonSets();
  AskRights();
}

void ApiProbe::AskDaemonSets() {
  if (!seen_.pods.ok()) return;
  for (const PodSeen& pod : *seen_.pods) {
    const std::string key = pod.DaemonSet();
    const bool wanted = !key.empty() && (pod.is_driver || pod.runs_agent);
    if (!wanted || seen_.daemon_sets.size() >= kDaemonSetsMax) continue;
    const auto [entry, fresh] = seen_.daemon_sets.try_emplace(key);
    if (!fresh) continue;
    const std::string path = "/apis/apps/v1/namespaces/" + pod.pod.meta.key.ns + "/daemonsets/" +
                             key.substr(key.find('/') + 1);
    Fetch(net::HttpRequest{.path = path}, entry->second, ReadDaemonSet);
  }
}

void ApiProbe::AskFarPods() {
  if (!seen_.claims.ok() || !seen_.pods.ok()) return;
  std::size_t asked = 0;
  for (const PodRef& ref : FarPods(*seen_.claims, *seen_.pods)) {
    Seen<bool>& there = seen_.far_pods[ref.uid];
    if (asked++ >= kFarPodsMax) continue;
    Ask(kube::Get(kube::kPods, ref.key.ns, ref.key.name), [&there, ref](StatusOr<Json> pod) {
      if (pod.ok()) {
        there = (*pod)["metadata"]["uid"].AsString() == ref.uid;
      } else if (pod.status().code() == Code::kNotFound) {
        there = false;
      } else {
        there = pod.status();
      }
    });
  }
}

Subject ApiProbe::SubjectOfAgent() const {
  if (options_.agent) return *options_.agent;
  if (seen_.pods.ok()) {
    for (const PodSeen& pod : *seen_.pods) {
      if (pod.runs_agent) return {pod.pod.meta.key.ns, pod.service_account};
    }
  }
  return {};
}

void ApiProbe::AskRights() {
  Subject subject = SubjectOfAgent();
  // The agent's account may not review others' rights, but everybody may review their own.
  subject.self = !user_.empty() && subject.user() == user_;
  seen_.access_of = subject.phrase();
  for (const Right& right : AgentRights()) {
    if (!right.manager_only || options_.manager) seen_.access.push_back({.right = ToString(right)});
  }
  std::size_t at = 0;
  for (const Right& right : AgentRights()) {
    if (right.manager_only && !options_.manager) continue;
    Seen<bool>& allowed = seen_.access[at++].allowed;
    Fetch(ReviewRequest(right, subject), allowed, ReadAllowed);
  }
}

void ApiProbe::Ask(net::HttpRequest request, Take take) {
  ++open_;
  calls_.push_back(
      client_.Do(std::move(request), [this, take = std::move(take)](StatusOr<Json> answer) {
        take(answer.ok() ? std::move(answer) : ExplainRefusal(answer.status()));
        Finish();
      }));
}

void ApiProbe::AskPlain(const std::string& path, ApiCall::Kind kind,
                        std::function<void(PlainAnswer)> take) {
  ++open_;
  plain_calls_.push_back(std::make_unique<ApiCall>(
      loop_, transport_, path, kind, [this, take = std::move(take)](PlainAnswer answer) {
        take(std::move(answer));
        Finish();
      }));
}

void ApiProbe::AskAll(const kube::Resource& resource, const std::string& field, Each each,
                      std::function<void(Status)> end) {
  AskPage(resource, {.selectors = {.field = field}, .limit = kPage}, 0, each, end);
}

void ApiProbe::AskPage(const kube::Resource& resource, kube::ListOptions page, std::size_t before,
                       const Each& each, const std::function<void(Status)>& end) {
  Ask(kube::List(resource, "", page),
      [this, resource, page, before, each, end](StatusOr<Json> answer) mutable {
        if (!answer.ok()) return end(answer.status());
        const Json& list = *answer;
        for (const Json& item : list["items"].items()) each(item);
        before += list["items"].items().size();
        page.resume = list["metadata"]["continue"].AsString();
        if (page.resume.empty()) return end(OkStatus());
        if (before >= kObjectsMax) {
          return end(ResourceExhausted("more than {} {}", kObjectsMax, resource.plural));
        }
        AskPage(resource, std::move(page), before, each, end);
      });
}

template <typename T, typename Read>
void ApiProbe::Gather(const kube::Resource& resource, const std::string& field,
                      Seen<std::vector<T>>& into, Read read) {
  into = std::vector<T>();
  AskAll(
      resource, field,
      [&into, read](const Json& item) {
        // An object that cannot be decoded is skipped: this node does not depend on it.
        if (StatusOr<T> one = read(item); one.ok()) into->push_back(std::move(*one));
      },
      [&into](Status status) {
        if (!status.ok()) into = std::move(status);
      });
}

template <typename T, typename Read>
void ApiProbe::Fetch(net::HttpRequest request, Seen<T>& into, Read read) {
  Ask(std::move(request), [&into, read](StatusOr<Json> answer) {
    into = answer.ok() ? Seen<T>(read(*answer)) : Seen<T>(answer.status());
  });
}

// The last answer of a stage begins the next stage.
void ApiProbe::Finish() {
  if (--open_ > 0) return;
  if (++stage_ == 1 && seen_.version.ok()) {
    ++open_;  // counts as open until all requests are sent
    AskObjects();
    AskGates();
    return Finish();
  }
  if (stage_ == 2) {
    ++open_;
    AskRest();
    return Finish();
  }
  done_();
}

}  // namespace galen::doctor
