// What the API server forbids this agent, seen on the answers that pass by: a right that was taken
// away, or never given, is told once in the log, and in /readyz for as long as it is missing.
// Stands between whoever asks and the transport. Belongs to its loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/loop.h"
#include "net/http.h"

namespace galen::agent {

class Permissions final : public net::HttpClient {
 public:
  // A right that is asked for no more (its Pod went) is no trouble any more. Longer than anybody
  // waits before asking again for what was refused.
  static constexpr Duration kForgetAfter = std::chrono::minutes(6);
  // Kinds and namespaces; past it the rest goes without saying.
  static constexpr std::size_t kMissingMax = 256;

  // What is lent outlives it.
  Permissions(Loop& loop, Log& log, net::HttpClient& inner)
      : loop_(loop), log_(log), inner_(inner) {}

  // Called, from the loop, when something that was forbidden is allowed again: whoever gave up for
  // a while is to try at once, which also shows what is missing still. One callback.
  void OnRestored(std::function<void()> callback) { on_restored_ = std::move(callback); }

  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override;

  // What RBAC denies now, in order: `patch resource "pods/status" in API group ""`, and where, when
  // it is one namespace. Empty when nothing is. Refusals of admission are not among them: they are
  // of one object, and its writer tells them.
  std::vector<std::string> missing() const;

 private:
  class Call;
  struct Missing {
    std::string text;  // in RBAC's words
    Time last{};       // when it was last denied
  };
  using Place = std::string;  // a namespace, "" for the whole cluster

  void Allowed(const std::string& right, const Place& place);
  void Denied(const std::string& right, const Place& place, std::string text);
  bool IsOld(const Missing& missing) const { return loop_.Now() - missing.last > kForgetAfter; }
  std::size_t size() const;

  Loop& loop_;
  Log& log_;
  net::HttpClient& inner_;
  std::function<void()> on_restored_;
  // By what was asked: "PATCH pods/status".
  std::map<std::string, std::map<Place, Missing>> missing_;
  Timer restored_;
};

// The words behind "cannot" of a refusal by RBAC; "" for any other text. Pure.
std::string DeniedByRbac(std::string_view message);

}  // namespace galen::agent
