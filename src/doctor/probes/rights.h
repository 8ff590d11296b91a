// What galen-agent must be allowed to do, as data, and the questions by which the API server says
// whether somebody is (authorization.k8s.io/v1). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/data/json.h"
#include "net/http.h"

namespace galen::doctor {

struct Right {
  std::string verb, group, resource, subresource;
  bool manager_only = false;
};
std::string ToString(const Right& right);  // "patch pods/status"

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

}  // namespace galen::doctor
