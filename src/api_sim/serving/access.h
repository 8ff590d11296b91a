// Authentication and authorization: bearer tokens identify users, users have rules. Replaces
// kube-apiserver's authentication and RBAC: rules only allow, and have no roles, bindings or
// namespaces.
// Immutable after construction; belongs to the API's loop.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api_sim/objects/refusal.h"
#include "base/data/json.h"
#include "net/http.h"

namespace galen::api_sim {

// What a user may do: any of these verbs on any of these resources, in every namespace and for
// every name. "*" in a list stands for anything. API groups are ignored.
struct AccessRule {
  std::vector<std::string> verbs;      // "get", "list", "watch", "create", "update", "patch", …
  std::vector<std::string> resources;  // "pods", "pods/status", "nodedevicehealths"
};

// An authenticated caller. Groups are only shown (selfsubjectreviews); rights come from the rules
// alone.
struct User {
  std::string name;
  std::vector<std::string> groups;
  std::vector<AccessRule> rules;  // any one suffices
};

// A user with full access, in the groups system:masters and system:authenticated.
User Administrator(std::string name);

// One act, as authorization sees it. `verb` is one of AccessRule::verbs and never "*". `group` is
// "" for the core group; `ns` is "" at cluster scope and for lists over all namespaces; `name` is
// "" for list, watch, create and deletecollection.
struct Act {
  std::string verb;
  std::string group;
  std::string resource;  // "pods" or "pods/status"
  std::string ns;
  std::string name;
};

class Access {
 public:
  // The key is the token without "Bearer ". Without any tokens everybody is system:anonymous with
  // full access: for simulations.
  explicit Access(std::map<std::string, User> users_by_token)
      : users_by_token_(std::move(users_by_token)) {}

  // The user of the request's Authorization header; 401 without a known bearer token. Client
  // certificates are not read.
  Outcome<User> Authenticate(const net::Headers& headers) const;
  // Whether one of the user's rules holds both the verb and the resource. A subresource is a
  // resource of its own: "pods" does not include "pods/status".
  static bool MayDo(const User& user, const Act& act);

 private:
  const std::map<std::string, User> users_by_token_;
};

// The 403 after MayDo returned false, with kube-apiserver's message, which clients show and some
// parse.
Refusal DeniedRefusal(const User& user, const Act& act);

// The answer to "who am I" (selfsubjectreviews), to "may I" (selfsubjectaccessreviews) and to "what
// may I" (selfsubjectrulesreviews): `review` with its status filled in. Null when `plural` is none
// of them. Never refused: every user may ask about itself.
Json AnswerReview(const User& user, const std::string& plural, const Json& review);

}  // namespace galen::api_sim
