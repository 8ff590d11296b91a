#include "kube/refusal_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/request.h"

namespace galen::kube {
namespace {

constexpr int kForbidden = 403;
// Enough for a Status object with one sentence; the rest of a longer body is not read.
constexpr std::size_t kBodyBytesMax = 8 * 1024;
constexpr std::size_t kTextBytesMax = 300;

const Resource kReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                        "SelfSubjectAccessReview", false};

std::vector<std::string_view> SegmentsOf(std::string_view path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    segments.push_back(segment);
    path.remove_prefix(segment.size());
  }
  return segments;
}

// Whether the answer shows that the request passed the check of rights.
bool WasAuthorized(int status) {
  return status != 401 && status != kForbidden && status != 429 && status < 500;
}

}  // namespace

std::string RefusalWatch::Right::name() const {
  return fmt::format("{} {}{}{}", verb, resource, subresource.empty() ? "" : "/", subresource);
}

// "/api/v1/namespaces/train/pods/a/status" → patch pods/status in train. A list, a watch and one
// object are different rights to RBAC.
RefusalWatch::Right RefusalWatch::RightOf(const net::HttpRequest& request) {
  static const std::map<std::string_view, std::string_view> kVerbs = {{"GET", "get"},
                                                                      {"POST", "create"},
                                                                      {"PUT", "update"},
                                                                      {"PATCH", "patch"},
                                                                      {"DELETE", "delete"}};
  std::vector<std::string_view> rest = SegmentsOf(request.path);
  const auto drop = [&](std::size_t count) {
    rest.erase(rest.begin(),
               rest.begin() + static_cast<std::ptrdiff_t>(std::min(count, rest.size())));
  };
  Right right;
  if (const auto verb = kVerbs.find(request.method); verb != kVerbs.end()) {
    right.verb = verb->second;
  }
  const bool is_core = !rest.empty() && rest.front() == "api";
  if (!is_core && rest.size() > 1) right.group = rest[1];
  drop(is_core ? 2 : 3);
  if (rest.size() > 2 && rest.front() == "namespaces") {
    right.place = rest[1];
    drop(2);
  }
  if (right.verb == "get" && rest.size() < 2) right.verb = "list";
  if (request.path.find("watch=") != std::string::npos) right.verb = "watch";
  if (!rest.empty()) right.resource = rest[0];
  if (rest.size() > 2) right.subresource = rest[2];
  return right;
}

// A SelfSubjectAccessReview (authorization.k8s.io/v1): may I?
Json RefusalWatch::ReviewOf(const Right& right) {
  Json attributes = Json::MakeObject({{"verb", right.verb}, {"resource", right.resource}});
  if (!right.group.empty()) attributes["group"] = right.group;
  if (!right.subresource.empty()) attributes["subresource"] = right.subresource;
  if (!right.place.empty()) attributes["namespace"] = right.place;
  return Json::MakeObject(
      {{"apiVersion", kReviews.api_version()},
       {"kind", kReviews.kind},
       {"spec", Json::MakeObject({{"resourceAttributes", std::move(attributes)}})}});
}

// kube-apiserver's format: `pods "a" is forbidden: User "x" cannot patch resource …`. Whoever
// refuses later (admission, a namespace that is going) has "forbidden" too, but not this format.
std::string DeniedByRbac(std::string_view message) {
  constexpr std::string_view kCannot = "\" cannot ";
  const std::size_t user = message.find("User \"");
  const std::size_t cannot = message.find(kCannot, user);
  if (user == std::string_view::npos || cannot == std::string_view::npos) return "";
  return CutText(message.substr(cannot + kCannot.size()), kTextBytesMax);
}

// Passes everything on as it comes, and looks at the head and at a refusal's text.
class RefusalWatch::Call final : public net::HttpCall, private net::HttpResponseSink {
 public:
  Call(RefusalWatch& owner, net::HttpRequest request, net::HttpResponseSink& sink)
      : owner_(owner), sink_(sink), right_(RightOf(request)) {
    inner_ = owner_.inner_.Send(std::move(request), *this);
  }

 private:
  // Each may destroy this call, so that what is ours comes before what is passed on.
  void OnHead(int status, const net::Headers& headers) override {
    forbidden_ = status == kForbidden;
    if (WasAuthorized(status)) owner_.Allowed(right_);
    sink_.OnHead(status, headers);
  }
  void OnData(std::string_view bytes) override {
    if (forbidden_ && body_.size() < kBodyBytesMax) body_ += bytes;
    sink_.OnData(bytes);
  }
  void OnEnd(const Status& status, const net::Headers& trailers) override {
    if (forbidden_) Refused();
    sink_.OnEnd(status, trailers);
  }

  void Refused() {
    std::string text = DeniedByRbac(StatusOfResponse(kForbidden, body_).message());
    // Refused later than by RBAC: the right itself is there.
    if (text.empty()) return owner_.Allowed(right_);
    owner_.Denied(right_, std::move(text));
  }

  RefusalWatch& owner_;
  net::HttpResponseSink& sink_;
  const Right right_;
  bool forbidden_ = false;
  std::string body_;
  std::unique_ptr<net::HttpCall> inner_;
};

std::unique_ptr<net::HttpCall> RefusalWatch::Send(net::HttpRequest request,
                                                  net::HttpResponseSink& sink) {
  return std::make_unique<Call>(*this, std::move(request), sink);
}

std::vector<std::string> RefusalWatch::missing() const {
  std::vector<std::string> texts;
  for (const auto& [name, places] : missing_) {
    const std::string& first = places.begin()->second.text;
    texts.push_back(places.size() == 1 ? first
                                       : fmt::format("{} and {} more", first, places.size() - 1));
  }
  return texts;
}

const RefusalWatch::Missing* RefusalWatch::Find(const Right& right) const {
  const auto places = missing_.find(right.name());
  if (places == missing_.end()) return nullptr;
  const auto it = places->second.find(right.place);
  return it == places->second.end() ? nullptr : &it->second;
}

void RefusalWatch::Allowed(const Right& right) {
  if (Find(right) == nullptr) return;
  const auto places = missing_.find(right.name());
  places->second.erase(right.place);
  if (places->second.empty()) {
    missing_.erase(places);
    log_.Info("the API server allows again what it forbade", {{"right", right.name()}});
  }
  // From the loop, not from inside somebody's answer.
  restored_ = loop_.After(Duration::zero(), [this] {
    if (on_restored_) on_restored_();
  });
  // Somebody is granting rights: other missing ones may be back, too.
  if (to_ask_.empty()) ask_ = loop_.After(Duration::zero(), [this] { AskForAll(); });
}

void RefusalWatch::Denied(const Right& right, std::string text) {
  if (Find(right) == nullptr && size() >= kMissingMax) return;
  if (missing_.empty()) ask_ = loop_.After(kAskEvery, [this] { AskForAll(); });
  std::map<Place, Missing>& places = missing_[right.name()];
  // A line for each right, not for each namespace and each try.
  if (places.empty()) {
    log_.Error(
        fmt::format("the API server forbids what the agent needs: apply {} again", manifest_),
        {{"cannot", text}});
  }
  places[right.place] = {right, std::move(text)};
}

void RefusalWatch::AskForAll() {
  review_.reset();
  to_ask_.clear();
  for (const auto& [name, places] : missing_) {
    for (const auto& [place, one] : places) to_ask_.push_back(one.right);
  }
  AskNext();
}

void RefusalWatch::AskNext() {
  // Others may have seen meanwhile that it is allowed.
  while (!to_ask_.empty() && Find(to_ask_.front()) == nullptr) to_ask_.pop_front();
  if (to_ask_.empty()) {
    if (!missing_.empty()) ask_ = loop_.After(kAskEvery, [this] { AskForAll(); });
    return;
  }
  review_ = client_.Do(
      Create(kReviews, "", ReviewOf(to_ask_.front())),
      [this, right = to_ask_.front()](const StatusOr<Json>& reply) { OnReview(right, reply); });
}

void RefusalWatch::OnReview(const Right& right, const StatusOr<Json>& reply) {
  if (reply.ok() && (*reply)["status"]["allowed"].AsBool()) Allowed(right);
  // A server that does not answer this review does not answer the next; what is not known stays as
  // it was.
  if (reply.ok()) {
    to_ask_.pop_front();
  } else {
    to_ask_.clear();
  }
  AskNext();
}

std::size_t RefusalWatch::size() const {
  std::size_t size = 0;
  for (const auto& [name, places] : missing_) size += places.size();
  return size;
}

}  // namespace galen::kube
