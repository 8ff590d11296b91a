// Who may do what: bearer tokens name users, users have rules. Belongs to the API's loop.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "cluster_sim/refusal.h"
#include "net/http.h"

namespace galen::cluster_sim {

// What a user may do; "*" stands for anything.
struct AccessRule {
  std::vector<std::string> verbs;      // "get", "list", "watch", "create", "update", "patch", …
  std::vector<std::string> resources;  // "pods", "pods/status", "nodedevicehealths"
};

struct User {
  std::string name;
  std::vector<std::string> groups;
  std::vector<AccessRule> rules;  // any one suffices
};

// A user who may do everything.
User Administrator(std::string name);

// One act, as authorization sees it.
struct Act {
  std::string verb;
  std::string group;
  std::string resource;  // "pods" or "pods/status"
  std::string ns;
  std::string name;
};

class Access {
 public:
  // Without any token everybody is system:anonymous and may do everything: for simulations.
  explicit Access(std::map<std::string, User> users_by_token)
      : users_by_token_(std::move(users_by_token)) {}

  // 401 when there is no good bearer token.
  Outcome<User> Authenticate(const net::Headers& headers) const;
  static bool MayDo(const User& user, const Act& act);

 private:
  const std::map<std::string, User> users_by_token_;
};

Refusal DeniedRefusal(const User& user, const Act& act);

// The answer to "who am I" (selfsubjectreviews) and "may I" (selfsubjectaccessreviews and
// selfsubjectrulesreviews); null when `plural` is none of them.
Json AnswerReview(const User& user, const std::string& plural, const Json& review);

}  // namespace galen::cluster_sim
