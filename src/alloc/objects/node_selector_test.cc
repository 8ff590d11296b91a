#include "alloc/objects/node_selector.h"

#include <gtest/gtest.h>

namespace galen::alloc {
namespace {

Node NodeWithLabels() {
  return {.name = "node-1", .labels = {{"zone", "a"}, {"gpus", "8"}, {"text", "x"}}};
}

bool Holds(NodeRequirement requirement) {
  return Matches({.terms = {{.expressions = {std::move(requirement)}}}}, NodeWithLabels());
}

TEST(NodeSelector, ComparesLabels) {
  EXPECT_TRUE(Holds({"zone", NodeRequirement::Operator::kIn, {"b", "a"}}));
  EXPECT_FALSE(Holds({"none", NodeRequirement::Operator::kIn, {"a"}}));
  EXPECT_FALSE(Holds({"zone", NodeRequirement::Operator::kNotIn, {"a"}}));
  EXPECT_TRUE(Holds({"none", NodeRequirement::Operator::kNotIn, {"a"}}))
      << "a label that is absent is not in the list";
  EXPECT_TRUE(Holds({"zone", NodeRequirement::Operator::kExists, {}}));
  EXPECT_FALSE(Holds({"zone", NodeRequirement::Operator::kDoesNotExist, {}}));
  EXPECT_TRUE(Holds({"gpus", NodeRequirement::Operator::kGreater, {"7"}}));
  EXPECT_FALSE(Holds({"gpus", NodeRequirement::Operator::kGreater, {"8"}}));
  EXPECT_TRUE(Holds({"gpus", NodeRequirement::Operator::kLess, {"9"}}));
  EXPECT_FALSE(Holds({"text", NodeRequirement::Operator::kLess, {"9"}})) << "no number";
  EXPECT_FALSE(Holds({"none", NodeRequirement::Operator::kLess, {"9"}}));
}

TEST(NodeSelector, NeedsOneTermAndAllOfIt) {
  const NodeRequirement good{"zone", NodeRequirement::Operator::kIn, {"a"}},
      bad{"zone", NodeRequirement::Operator::kIn, {"b"}};
  EXPECT_FALSE(Matches({.terms = {{.expressions = {good, bad}}}}, NodeWithLabels()));
  EXPECT_TRUE(
      Matches({.terms = {{.expressions = {bad}}, {.expressions = {good}}}}, NodeWithLabels()));
  EXPECT_FALSE(Matches({}, NodeWithLabels()));
  EXPECT_FALSE(Matches({.terms = {{}}}, NodeWithLabels())) << "an empty term matches nothing";
}

TEST(NodeSelector, KnowsTheNodesName) {
  EXPECT_TRUE(Matches(SelectorOfNode("node-1"), NodeWithLabels()));
  EXPECT_FALSE(Matches(SelectorOfNode("node-2"), NodeWithLabels()));
  const NodeSelector other{
      .terms = {{.fields = {{"metadata.uid", NodeRequirement::Operator::kIn, {"1"}}}}}};
  EXPECT_FALSE(Matches(other, NodeWithLabels()));
}

TEST(NodeSelector, NamesWhatCannotBeEvaluated) {
  const auto check = [](NodeRequirement requirement, bool field) {
    NodeSelectorTerm term;
    (field ? term.fields : term.expressions).push_back(std::move(requirement));
    return Validate({.terms = {term}}).code();
  };
  EXPECT_EQ(check({"zone", NodeRequirement::Operator::kIn, {}}, false), Code::kInvalidArgument);
  EXPECT_EQ(check({"zone", NodeRequirement::Operator::kExists, {"a"}}, false),
            Code::kInvalidArgument);
  EXPECT_EQ(check({"gpus", NodeRequirement::Operator::kGreater, {"x"}}, false),
            Code::kInvalidArgument);
  EXPECT_EQ(check({"gpus", NodeRequirement::Operator::kLess, {"1", "2"}}, false),
            Code::kInvalidArgument);
  EXPECT_EQ(check({"zone", NodeRequirement::Operator::kUnknown, {}}, false),
            Code::kInvalidArgument);
  EXPECT_EQ(check({"metadata.name", NodeRequirement::Operator::kIn, {"a", "b"}}, true),
            Code::kInvalidArgument);
  EXPECT_EQ(check({"metadata.name", NodeRequirement::Operator::kExists, {}}, true),
            Code::kInvalidArgument);
  EXPECT_EQ(check({"metadata.name", NodeRequirement::Operator::kNotIn, {"a"}}, true), Code::kOk);
  EXPECT_EQ(check({"gpus", NodeRequirement::Operator::kGreater, {"-1"}}, false), Code::kOk);
}

TEST(NodeSelector, ReadsWhatItWrites) {
  const NodeSelector selector{
      .terms = {{.expressions = {{"zone", NodeRequirement::Operator::kIn, {"a", "b"}},
                                 {"x", NodeRequirement::Operator::kDoesNotExist, {}}},
                 .fields = {{"metadata.name", NodeRequirement::Operator::kNotIn, {"n"}}}}}};
  EXPECT_EQ(ReadNodeSelector(WriteNodeSelector(selector)), selector);
}

TEST(Node, IsReadAsFarAsSelectorsNeedIt) {
  const Json object = Json::Parse(R"({"metadata": {"name": "n", "labels": {"a": "b"}},
                                      "status": {"declaredFeatures": ["F"]}})")
                          .value();
  EXPECT_EQ(ReadNode(object), (Node{"n", {{"a", "b"}}, {"F"}}));
}

}  // namespace
}  // namespace galen::alloc
