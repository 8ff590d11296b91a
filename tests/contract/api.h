// The API under test, embedded or real, with a client that waits for its answers. One for the
// whole run; one thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "base/loop/epoll_loop.h"
#include "net/http.h"

namespace galen::contract {

// A whole answer. `body` is its text as JSON, null when that does not parse.
struct Reply {
  int code = 0;
  net::Headers headers;
  std::string text;
  Json body;

  // What a Status object says went wrong: "NotFound", "Conflict", …
  const std::string& reason() const { return body["reason"].AsString(); }
};

inline constexpr const char* kJson = "application/json";
inline constexpr const char* kJsonPatch = "application/json-patch+json";
inline constexpr const char* kMergePatch = "application/merge-patch+json";
inline constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";
inline constexpr const char* kApplyPatch = "application/apply-patch+yaml";

// A watch under way; dropping it cancels. Starting it waits for the head of the answer.
class Watch {
 public:
  virtual ~Watch() = default;
  // The next event, or nullopt when none comes in time or the watch has ended.
  virtual std::optional<Json> Next(Duration patience = std::chrono::seconds(10)) = 0;
  virtual bool ended() const = 0;
  // The HTTP status; 0 when no head came in time.
  virtual int code() const = 0;
};

// Sends requests and waits for what comes; a request that gets no whole answer within 20 s fails
// the test.
class Api {
 public:
  virtual ~Api() = default;
  virtual Reply Send(std::string method, std::string path, const Json& body = {},
                     std::string content_type = kJson, net::Headers headers = {}) = 0;
  virtual std::unique_ptr<Watch> StartWatch(std::string path, net::Headers headers = {}) = 0;
  // Lets time pass until `done`, asked at each arrival and many times a second, or the end of
  // patience; whether it was done.
  virtual bool WaitUntil(const std::function<bool()>& done,
                         Duration patience = std::chrono::seconds(10)) = 0;

  // The minor version that this server reports: N of Kubernetes 1.N.
  int minor();

  Reply Get(std::string path) { return Send("GET", std::move(path)); }
  Reply Post(std::string path, const Json& body) { return Send("POST", std::move(path), body); }
  Reply Put(std::string path, const Json& body) { return Send("PUT", std::move(path), body); }
  Reply Delete(std::string path, const Json& options = {}) {
    return Send("DELETE", std::move(path), options);
  }
  Reply Patch(std::string path, const char* type, std::string_view patch);

 private:
  int minor_ = 0;  // 0: not asked yet
};

// Whether the server is of a release before 1.`minor`, with which something came. Written to the
// test's report, so that its mark can say so; the test goes on with what older servers do instead.
bool IsBefore(int minor);

// Where the API is. A real one is reached by TLS with a bearer token.
struct ApiAddress {
  std::string server;  // "https://127.0.0.1:6443"; "" = start the embedded one
  std::string token;
  std::string ca_pem;
};

// Before the first test, once. Ends the process when the API cannot be reached.
void UseApi(const ApiAddress& address);
// REQUIRES: UseApi.
Api& TheApi();

// A namespace of a test's own, deleted at its end, so that tests share a real cluster without
// seeing each other.
class Namespace {
 public:
  Namespace();
  ~Namespace();
  const std::string& name() const { return name_; }
  // "/api/v1/namespaces/NS/pods"
  std::string Pods() const { return "/api/v1/namespaces/" + name_ + "/pods"; }
  std::string Pod(std::string_view pod) const { return Pods() + "/" + std::string(pod); }
  std::string ConfigMaps() const { return "/api/v1/namespaces/" + name_ + "/configmaps"; }
  std::string ConfigMap(std::string_view map) const {
    return ConfigMaps() + "/" + std::string(map);
  }
  // "/apis/resource.k8s.io/v1/namespaces/NS/resourceclaims"
  std::string Claims() const;
  std::string Claim(std::string_view claim) const { return Claims() + "/" + std::string(claim); }

 private:
  std::string name_;
};

// "BASE-SUFFIX": a name nobody used before in this run or an earlier one.
std::string FreshName(std::string_view base);

// Text to Json; fails the test when it does not parse.
Json ToJson(std::string_view text);

// A Pod that no scheduler takes, so that what a test writes stays as it is.
Json MakePod(std::string_view name);
Json MakeConfigMap(std::string_view name, std::string_view value = "v");

}  // namespace galen::contract
