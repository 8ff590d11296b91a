// An HTTP client between whoever sends requests and the transport, which passes everything on
// unchanged and watches for refusals: a right that RBAC denies this account is logged once and
// listed in missing() for as long as it is denied. That it is granted again is seen on answers to
// later requests; where nobody sends one again (an Event is not written twice, a Pod went) it asks
// the API server itself, by a SelfSubjectAccessReview, which every account may make and which
// changes nothing. Belongs to its loop.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/loop/loop.h"
#include "kube/client.h"
#include "net/http.h"

namespace galen::kube {

class RefusalWatch final : public net::HttpClient {
 public:
  // How often the API server is asked whether missing rights are back; one request for each, one
  // after another.
  static constexpr Duration kAskEvery = std::chrono::minutes(1);
  // Rights and namespaces together; past it the rest is neither logged nor listed.
  static constexpr std::size_t kMissingMax = 256;

  // The loop, the log and `inner` outlive it. `manifest`: the file that grants the rights, named in
  // the log for the person who is to apply it again.
  RefusalWatch(Loop& loop, Log& log, net::HttpClient& inner, std::string manifest)
      : loop_(loop),
        log_(log),
        inner_(inner),
        manifest_(std::move(manifest)),
        client_(loop, inner) {}

  // Called from the loop when something that was forbidden is allowed again: whoever gave up for a
  // while is to try at once, which also shows what is still missing. One callback.
  void OnRestored(std::function<void()> callback) { on_restored_ = std::move(callback); }

  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override;

  // The rights that RBAC denies, each for as long as no answer shows that it is allowed; sorted:
  // `patch resource "pods/status" in API group ""`, and the namespace if it is one. Empty when
  // nothing is denied. Refusals by admission are not among them: they concern one object, and its
  // writer reports them.
  std::vector<std::string> missing() const;

 private:
  class Call;
  using Place = std::string;  // a namespace, "" for the whole cluster
  // The right that a request needs, as RBAC sees it: the same for every object of a kind.
  struct Right {
    std::string verb;  // "patch"
    std::string group;
    std::string resource;
    std::string subresource;  // "" for the object itself
    Place place;

    // "patch pods/status", without group and place: for ordering and for the log.
    std::string name() const;
  };
  struct Missing {
    Right right;
    std::string text;  // as RBAC puts it
  };

  static Right RightOf(const net::HttpRequest& request);
  static Json ReviewOf(const Right& right);
  void Allowed(const Right& right);
  void Denied(const Right& right, std::string text);
  // Asks for everything that is missing, then waits until it is time again.
  void AskForAll();
  void AskNext();
  void OnReview(const Right& right, const StatusOr<Json>& reply);
  const Missing* Find(const Right& right) const;
  std::size_t size() const;

  Loop& loop_;
  Log& log_;
  net::HttpClient& inner_;
  const std::string manifest_;
  Client client_;  // past ourselves: its own reviews are not watched
  std::function<void()> on_restored_;
  std::map<std::string, std::map<Place, Missing>> missing_;  // by a right's name
  std::deque<Right> to_ask_;
  std::unique_ptr<net::HttpCall> review_;
  Timer restored_, ask_;
};

// The text after "cannot" in a refusal by RBAC; "" for any other text. Pure.
std::string DeniedByRbac(std::string_view message);

}  // namespace galen::kube
