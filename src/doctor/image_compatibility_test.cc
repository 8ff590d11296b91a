#include "doctor/image_compatibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// The needs of an image that reaches a card by VFIO and has a choice of two makers.
constexpr const char* kDocument = R"(
version: v1alpha1
compatibilities:
- description: a card of either maker
  weight: 5
  rules:
  - name: kernel and cpu
    matchFeatures:
    - feature: kernel.loadedmodule
      matchExpressions:
        vfio_pci: {op: Exists}
    - feature: cpu.model
      matchExpressions:
        vendor_id: {op: In, value: [Intel, AMD]}
  - name: a network card
    matchAny:
    - matchFeatures:
      - feature: pci.device
        matchExpressions:
          vendor: {op: In, value: ["0eee"]}
          class: {op: In, value: ["0200"]}
    - matchFeatures:
      - feature: pci.device
        matchExpressions:
          vendor: {op: In, value: ["0fff"]}
          class: {op: In, value: ["0200"]}
)";

NodeFeatures Node() {
  NodeFeatures node;
  node.flags["kernel.loadedmodule"] = {"vfio_pci", "nvidia"};
  node.attributes["cpu.model"] = {{"vendor_id", "AMD"}, {"family", "25"}};
  node.instances["pci.device"] = {{{"vendor", "0fff"}, {"class", "0200"}},
                                  {{"vendor", "10de"}, {"class", "0302"}}};
  return node;
}

Fitting Judge(const NodeFeatures& node, const char* text = kDocument) {
  const auto sets = ReadCompatibility(text);
  EXPECT_TRUE(sets.ok()) << sets.status().message();
  return sets.ok() ? FitOf(sets->front(), node) : Fitting{};
}

// One expression about the CPU's family, 25.
Fit Family(const std::string& expression) {
  const std::string text =
      "version: v1alpha1\ncompatibilities: [{rules: [{name: r, matchFeatures: [{feature: "
      "cpu.model, matchExpressions: {" +
      expression + "}}]}]}]\n";
  return Judge(Node(), text.c_str()).fit;
}

TEST(ImageCompatibility, ANodeThatHasAllFits) { EXPECT_EQ(Judge(Node()).fit, Fit::kYes); }

TEST(ImageCompatibility, WhatANodeLacksIsNamedByItsRule) {
  NodeFeatures node = Node();
  node.flags["kernel.loadedmodule"].erase("vfio_pci");
  EXPECT_EQ(Judge(node).fit, Fit::kNo);
  EXPECT_EQ(Judge(node).why, "kernel and cpu");
}

TEST(ImageCompatibility, OneDeviceHasToHaveAllThatATermAsksFor) {
  NodeFeatures node = Node();
  node.instances["pci.device"] = {{{"vendor", "0fff"}, {"class", "0302"}},
                                  {{"vendor", "10de"}, {"class", "0200"}}};
  EXPECT_EQ(Judge(node).fit, Fit::kNo);
  EXPECT_EQ(Judge(node).why, "a network card");
}

TEST(ImageCompatibility, WhatWasNotReadOfADeviceIsUnknown) {
  const char* text =
      "version: v1alpha1\ncompatibilities: [{rules: [{name: r, matchFeatures: [{feature: "
      "pci.device, matchExpressions: {vendor: {op: In, value: ['10de']}, sriov_totalvfs: {op: Gt, "
      "value: ['0']}}}]}]}]\n";
  EXPECT_EQ(Judge(Node(), text).fit, Fit::kUnknown);
}

TEST(ImageCompatibility, AFeatureThatWasNotLookedAtIsUnknownUnlessAnotherIsMissing) {
  NodeFeatures node = Node();
  node.attributes.clear();
  EXPECT_EQ(Judge(node).fit, Fit::kUnknown);
  node.instances["pci.device"].clear();
  EXPECT_EQ(Judge(node).fit, Fit::kNo);
}

TEST(ImageCompatibility, ALabelOfTheNodeStandsForAFeatureThatWasNotLookedAt) {
  const char* text =
      "version: v1alpha1\ncompatibilities: [{rules: [{name: r, matchFeatures: [{feature: "
      "cpu.cpuid, matchExpressions: {AVX2: {op: Exists}}}]}]}]\n";
  NodeFeatures node;
  EXPECT_EQ(Judge(node, text).fit, Fit::kUnknown);
  node.labels["feature.node.kubernetes.io/cpu-cpuid.AVX2"] = "true";
  EXPECT_EQ(Judge(node, text).fit, Fit::kYes);
}

TEST(ImageCompatibility, OperatorsMeanWhatNfdSaysOfThem) {
  EXPECT_EQ(Family("family: {op: Gt, value: ['24']}"), Fit::kYes);
  EXPECT_EQ(Family("family: {op: Lt, value: ['25']}"), Fit::kNo);
  EXPECT_EQ(Family("family: {op: GtLt, value: ['24', '26']}"), Fit::kYes);
  EXPECT_EQ(Family("family: {op: NotIn, value: ['25']}"), Fit::kNo);
  EXPECT_EQ(Family("stepping: {op: NotIn, value: ['25']}"), Fit::kNo) << "absent is no match";
  EXPECT_EQ(Family("stepping: {op: DoesNotExist}"), Fit::kYes);
  EXPECT_EQ(Family("family: {op: Gt, value: [many]}"), Fit::kUnknown);
  EXPECT_EQ(Family("family: {op: InRegexp, value: ['2.']}"), Fit::kUnknown);
}

TEST(ImageCompatibility, WhatIsNoListIsRefusedAndNotTakenForNeedingNothing) {
  const auto fault_of = [](const std::string& rule) {
    return std::string(
        ReadCompatibility("version: v1alpha1\ncompatibilities: [{rules: [{name: r, " + rule +
                          "}]}]")
            .status()
            .message());
  };
  EXPECT_THAT(fault_of("matchFeatures: {feature: cpu.model}"),
              HasSubstr("rule 'r': matchFeatures is no list"));
  EXPECT_THAT(fault_of("matchAny: {matchFeatures: []}"), HasSubstr("matchAny is no list"));
  EXPECT_THAT(fault_of("matchAny: [{matchFeatures: {feature: cpu.model}}]"),
              HasSubstr("matchFeatures is no list"));
  EXPECT_THAT(fault_of("matchFeatures: [{feature: cpu.model, matchExpressions: "
                       "{family: {op: NotIn, value: '25'}}}]"),
              HasSubstr("value is no list"));
}

TEST(ImageCompatibility, WhatIsNoSuchDocumentIsRefused) {
  EXPECT_THAT(ReadCompatibility("version: v2\n").status().message(), HasSubstr("has version 'v2'"));
  EXPECT_THAT(ReadCompatibility("version: v1alpha1\n").status().message(),
              HasSubstr("no compatibilities"));
  EXPECT_THAT(ReadCompatibility("version: v1alpha1\ncompatibilities: [{}]\n").status().message(),
              HasSubstr("a set without rules"));
  EXPECT_THAT(*ReadCompatibility(kDocument), SizeIs(1));
}

}  // namespace
}  // namespace galen::doctor
