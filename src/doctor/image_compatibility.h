// What a container image needs of its node, as Node Feature Discovery's compatibility artifact says
// it (version v1alpha1: kubernetes-sigs/node-feature-discovery, docs/usage/image-compatibility.md),
// compared with what is known of a node. Values; pure.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen::doctor {

// One expression of a matcher: "vendor_id: {op: In, value: [Intel]}".
struct FeatureExpression {
  std::string element{}, op{};
  std::vector<std::string> values{};
};

// All expressions about one feature: "cpu.model".
struct FeatureTerm {
  std::string feature{};
  std::vector<FeatureExpression> expressions{};
  bool by_name = false;  // it has a matchName, which is not evaluated here
};

// A rule matches when all its terms do and, where there are alternatives, those of one of them.
struct FeatureRule {
  std::string name{};
  std::vector<FeatureTerm> terms{};
  std::vector<std::vector<FeatureTerm>> any{};
};

// One set of an image's needs: all its rules have to match.
struct CompatibilitySet {
  std::string description{};
  std::vector<FeatureRule> rules{};
};

inline constexpr std::size_t kCompatibilityBytesMax = 256 * 1024;

// InvalidArgument when it is no such document or of another version.
StatusOr<std::vector<CompatibilitySet>> ReadCompatibility(std::string_view text);

// The known features of a node. A feature that is missing here was not looked at.
struct NodeFeatures {
  // "kernel.version" → "major" → "6".
  std::map<std::string, std::map<std::string, std::string>> attributes{};
  std::map<std::string, std::set<std::string>> flags{};  // "kernel.loadedmodule" → "vfio_pci"
  // "pci.device" → one map for each device: "vendor" → "10de". What a map lacks was not read.
  std::map<std::string, std::vector<std::map<std::string, std::string>>> instances{};
  // Labels of the Node that NFD made of further features; one that is absent says nothing, because
  // only some features become labels.
  std::map<std::string, std::string> labels{};
};

// Ordered: all of several is the minimum, any of several the maximum.
enum class Fit { kNo, kUnknown, kYes };

// Whether the node meets a set; `why` names the first rule that it does not meet, or for which that
// is unknown.
struct Fitting {
  Fit fit = Fit::kUnknown;
  std::string why{};
};
Fitting FitOf(const CompatibilitySet& set, const NodeFeatures& node);

}  // namespace galen::doctor
