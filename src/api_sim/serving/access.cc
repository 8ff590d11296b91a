#include "api_sim/serving/access.h"

#include <fmt/format.h>

#include <algorithm>

namespace galen::api_sim {
namespace {

bool Lists(const std::vector<std::string>& list, const std::string& wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&wanted](const std::string& item) { return item == "*" || item == wanted; });
}

Json ArrayOfTexts(const std::vector<std::string>& strings) {
  Json array = Json(Json::Array());
  for (const std::string& text : strings) array.Append(text);
  return array;
}

// The act that a SelfSubjectAccessReview asks about.
Act ReadAct(const Json& attributes) {
  const std::string& part = attributes["subresource"].AsString();
  std::string resource = attributes["resource"].AsString();
  if (!part.empty()) resource += "/" + part;
  return {attributes["verb"].AsString(), attributes["group"].AsString(), std::move(resource),
          attributes["namespace"].AsString(), attributes["name"].AsString()};
}

// Our rules have no API groups, so each is shown for all groups.
Json RulesOf(const User& user) {
  Json rules = Json(Json::Array());
  for (const AccessRule& rule : user.rules) {
    rules.Append(Json::MakeObject({{"verbs", ArrayOfTexts(rule.verbs)},
                                   {"apiGroups", Json::MakeArray({"*"})},
                                   {"resources", ArrayOfTexts(rule.resources)}}));
  }
  return rules;
}

}  // namespace

User Administrator(std::string name) {
  return {std::move(name), {"system:masters", "system:authenticated"}, {{{"*"}, {"*"}}}};
}

Outcome<User> Access::Authenticate(const net::Headers& headers) const {
  if (users_by_token_.empty()) {
    User anyone = Administrator("system:anonymous");
    // kube-apiserver puts anonymous callers in this group; their rules here are unchanged.
    anyone.groups = {"system:unauthenticated"};
    return anyone;
  }
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view text = net::FindHeader(headers, "authorization").value_or("");
  if (text.substr(0, kBearer.size()) == kBearer) {
    // Not a constant-time look-up: tokens only guard a simulation.
    const auto it = users_by_token_.find(std::string(text.substr(kBearer.size())));
    if (it != users_by_token_.end()) return it->second;
  }
  return PlainRefusal(401, "Unauthorized", "Unauthorized");
}

bool Access::MayDo(const User& user, const Act& act) {
  return std::any_of(user.rules.begin(), user.rules.end(), [&act](const AccessRule& rule) {
    return Lists(rule.verbs, act.verb) && Lists(rule.resources, act.resource);
  });
}

Refusal DeniedRefusal(const User& user, const Act& act) {
  const std::string scope =
      act.ns.empty() ? "at the cluster scope" : fmt::format("in the namespace \"{}\"", act.ns);
  const std::string plural = act.resource.substr(0, act.resource.find('/'));
  return ForbiddenRefusal(
      {act.group, plural, "", act.name},
      fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}", user.name,
                  act.verb, act.resource, act.group, scope));
}

Json AnswerReview(const User& user, const std::string& plural, const Json& review) {
  Json answer = review;
  // Go writes the zero time of an object that was never stored as null, and clients expect the
  // field.
  answer["metadata"] = Json::MakeObject({{"creationTimestamp", nullptr}});
  if (plural == "selfsubjectreviews") {
    answer["status"]["userInfo"] =
        Json::MakeObject({{"username", user.name}, {"groups", ArrayOfTexts(user.groups)}});
    return answer;
  }
  if (plural == "selfsubjectaccessreviews") {
    // A review of a path instead of a resource has no resourceAttributes: it reads as empty verb
    // and resource, which only "*" allows.
    const bool allowed = Access::MayDo(user, ReadAct(review["spec"]["resourceAttributes"]));
    answer["status"] = Json::MakeObject({{"allowed", allowed}});
    return answer;
  }
  if (plural == "selfsubjectrulesreviews") {
    answer["status"] = Json::MakeObject({{"resourceRules", RulesOf(user)},
                                         {"nonResourceRules", Json::Array()},
                                         {"incomplete", false}});
    return answer;
  }
  return nullptr;
}

}  // namespace galen::api_sim
