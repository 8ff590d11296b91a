#include "agent/permissions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/client.h"

namespace galen::agent {
namespace {

constexpr int kForbidden = 403;
// A Status object with a sentence in it; more is not looked at.
constexpr std::size_t kBodyBytesMax = 8 * 1024;
constexpr std::size_t kTextBytesMax = 300;

// What a request asks for, as RBAC sees it: the same for every object of a kind.
struct Right {
  std::string name;
  std::string place;  // namespace
};

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

// "/api/v1/namespaces/train/pods/a/status" → "PATCH pods/status" in train. A list, a watch and one
// object are different rights to RBAC.
Right RightOf(const net::HttpRequest& request) {
  std::vector<std::string_view> rest = SegmentsOf(request.path);
  const auto drop = [&](std::size_t count) {
    rest.erase(rest.begin(),
               rest.begin() + static_cast<std::ptrdiff_t>(std::min(count, rest.size())));
  };
  drop(!rest.empty() && rest.front() == "api" ? 2 : 3);
  Right right{.name = request.method};
  if (rest.size() > 2 && rest.front() == "namespaces") {
    right.place = rest[1];
    drop(2);
  }
  if (request.path.find("watch=") != std::string::npos) right.name = "WATCH";
  if (right.name == "GET" && rest.size() < 2) right.name = "LIST";
  if (!rest.empty()) right.name += fmt::format(" {}", rest[0]);
  if (rest.size() > 2) right.name += fmt::format("/{}", rest[2]);
  return right;
}

// Whether the answer came from behind the check of rights.
bool WasAuthorized(int status) {
  return status != 401 && status != kForbidden && status != 429 && status < 500;
}

}  // namespace

// As kube-apiserver words it: `pods "a" is forbidden: User "x" cannot patch resource …`. Whoever
// refuses later (admission, a namespace that is going) says "forbidden", too, but not this.
std::string DeniedByRbac(std::string_view message) {
  constexpr std::string_view kCannot = "\" cannot ";
  const std::size_t user = message.find("User \"");
  const std::size_t cannot = message.find(kCannot, user);
  if (user == std::string_view::npos || cannot == std::string_view::npos) return "";
  return CutText(message.substr(cannot + kCannot.size()), kTextBytesMax);
}

// Passes everything on as it comes, and looks at the head and at a refusal's text.
class Permissions::Call final : public net::HttpCall, private net::HttpResponseSink {
 public:
  Call(Permissions& owner, net::HttpRequest request, net::HttpResponseSink& sink)
      : owner_(owner), sink_(sink), right_(RightOf(request)) {
    inner_ = owner_.inner_.Send(std::move(request), *this);
  }

 private:
  // Each may destroy this call, so that what is ours comes before what is passed on.
  void OnHead(int status, const net::Headers& headers) override {
    forbidden_ = status == kForbidden;
    if (WasAuthorized(status)) owner_.Allowed(right_.name, right_.place);
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
    std::string text = DeniedByRbac(kube::StatusOfResponse(kForbidden, body_).message());
    // Refused later than by RBAC: the right itself is there.
    if (text.empty()) return owner_.Allowed(right_.name, right_.place);
    owner_.Denied(right_.name, right_.place, std::move(text));
  }

  Permissions& owner_;
  net::HttpResponseSink& sink_;
  const Right right_;
  bool forbidden_ = false;
  std::string body_;
  std::unique_ptr<net::HttpCall> inner_;
};

std::unique_ptr<net::HttpCall> Permissions::Send(net::HttpRequest request,
                                                 net::HttpResponseSink& sink) {
  return std::make_unique<Call>(*this, std::move(request), sink);
}

std::vector<std::string> Permissions::missing() const {
  std::vector<std::string> texts;
  for (const auto& [right, places] : missing_) {
    std::size_t count = 0;
    const Missing* first = nullptr;
    for (const auto& [place, one] : places) {
      if (IsOld(one)) continue;
      ++count;
      if (first == nullptr) first = &one;
    }
    if (first == nullptr) continue;
    texts.push_back(count == 1 ? first->text
                               : fmt::format("{} and {} more", first->text, count - 1));
  }
  return texts;
}

void Permissions::Allowed(const std::string& right, const Place& place) {
  const auto it = missing_.find(right);
  if (it == missing_.end() || !it->second.contains(place)) return;
  // Somebody's hand is at work. The others may be back, too, and not all of them are asked for
  // again by themselves: what is still missing will be told anew.
  missing_.clear();
  log_.Info("the API server allows again what it forbade", {{"right", right}});
  // From the loop, not from inside somebody's answer.
  restored_ = loop_.After(Duration::zero(), [this] {
    if (on_restored_) on_restored_();
  });
}

void Permissions::Denied(const std::string& right, const Place& place, std::string text) {
  const auto it = missing_.find(right);
  const bool known = it != missing_.end() && it->second.contains(place);
  if (!known && size() >= kMissingMax) return;
  std::map<Place, Missing>& places = missing_[right];
  // A line for each right, not for each namespace and each try.
  const bool told =
      std::ranges::any_of(places, [&](const auto& one) { return !IsOld(one.second); });
  places[place] = {std::move(text), loop_.Now()};
  if (told) return;
  log_.Error("the API server forbids what the agent needs: apply deploy/galen.yaml again",
             {{"cannot", places[place].text}});
}

std::size_t Permissions::size() const {
  std::size_t size = 0;
  for (const auto& [right, places] : missing_) size += places.size();
  return size;
}

}  // namespace galen::agent
