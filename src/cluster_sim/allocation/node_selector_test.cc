#include "cluster_sim/allocation/node_selector.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace galen::cluster_sim {
namespace {

Json Node() {
  return Json::Parse(R"({"metadata":{"name":"node-1","labels":{"zone":"a","gpus":"8"}}})").value();
}

bool Matches(std::string_view expression) {
  const std::string selector =
      fmt::format(R"({{"nodeSelectorTerms":[{{"matchExpressions":[{}]}}]}})", expression);
  return MatchesNodeSelector(Json::Parse(selector).value(), Node());
}

TEST(NodeSelector, KnowsTheSixOperators) {
  EXPECT_TRUE(Matches(R"({"key":"zone","operator":"In","values":["b","a"]})"));
  EXPECT_FALSE(Matches(R"({"key":"zone","operator":"In","values":["b"]})"));
  EXPECT_FALSE(Matches(R"({"key":"rack","operator":"In","values":["b"]})"));
  EXPECT_FALSE(Matches(R"({"key":"zone","operator":"NotIn","values":["a"]})"));
  EXPECT_TRUE(Matches(R"({"key":"rack","operator":"NotIn","values":["a"]})"));
  EXPECT_TRUE(Matches(R"({"key":"zone","operator":"Exists"})"));
  EXPECT_FALSE(Matches(R"({"key":"rack","operator":"Exists"})"));
  EXPECT_TRUE(Matches(R"({"key":"rack","operator":"DoesNotExist"})"));
  EXPECT_TRUE(Matches(R"({"key":"gpus","operator":"Gt","values":["7"]})"));
  EXPECT_FALSE(Matches(R"({"key":"gpus","operator":"Gt","values":["8"]})"));
  EXPECT_TRUE(Matches(R"({"key":"gpus","operator":"Lt","values":["9"]})"));
  EXPECT_FALSE(Matches(R"({"key":"zone","operator":"Lt","values":["9"]})"));
  EXPECT_FALSE(Matches(R"({"key":"zone","operator":"Like","values":["a"]})"));
}

TEST(NodeSelector, AllRequirementsOfATermAndAnyTerm) {
  EXPECT_FALSE(Matches(R"({"key":"zone","operator":"Exists"},{"key":"rack","operator":"Exists"})"));
  EXPECT_TRUE(MatchesNodeSelector(Json::Parse(R"({"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"rack","operator":"Exists"}]},
      {"matchFields":[{"key":"metadata.name","operator":"In","values":["node-1"]}]}]})")
                                      .value(),
                                  Node()));
}

TEST(NodeSelector, AnEmptySelectorOrTermMatchesNoNode) {
  EXPECT_FALSE(MatchesNodeSelector(Json(), Node()));
  EXPECT_FALSE(MatchesNodeSelector(Json::Parse(R"({"nodeSelectorTerms":[{}]})").value(), Node()));
}

TEST(NodeSelector, PlainLabelsMustAllBeThere) {
  EXPECT_TRUE(HasLabels(Json(), Node()));
  EXPECT_TRUE(HasLabels(Json::Parse(R"({"zone":"a","gpus":"8"})").value(), Node()));
  EXPECT_FALSE(HasLabels(Json::Parse(R"({"zone":"a","gpus":"4"})").value(), Node()));
  EXPECT_FALSE(HasLabels(Json::Parse(R"({"rack":"a"})").value(), Node()));
}

}  // namespace
}  // namespace galen::cluster_sim
