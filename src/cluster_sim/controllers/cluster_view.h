// The controllers' shared view of the cluster: each kind is followed once (list, then watch).
// Controllers only read it; their own writes appear here a little later, never at once. Belongs to
// the loop.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/log.h"
#include "kube/informer.h"

namespace galen::cluster_sim {

class ClusterView {
 public:
  // Objects without managedFields, by ObjectKey.
  using Kind = kube::Informer<Json>;

  // Names of indexes, for Kind::Lookup.
  static constexpr const char* kByNode = "node";  // pods not done by spec.nodeName; "" = none yet
  static constexpr const char* kByTemplate = "template";  // pods by "ns/template"
  static constexpr const char* kByClaim = "claim";        // pods by "ns/claim"
  static constexpr const char* kByPod = "pod";            // claims by uids of owner and holders

  // The arguments outlive the view.
  ClusterView(Loop& loop, kube::Client& client, Random& random, Log& log);

  // Begins to list and watch all kinds. Once, after every controller has added its listeners.
  void Start();
  // Whether all kinds were listed. Controllers do nothing before: in a partial view a Pod would
  // seem gone when its kind was not listed yet. Stays true.
  bool synced() const;
  // Before Start(). Runs once, when the last kind's first list was read.
  void OnSynced(std::function<void()> callback) { on_synced_.push_back(std::move(callback)); }

  Kind pods;
  Kind nodes;
  Kind claims;
  Kind templates;
  Kind classes;
  Kind slices;
  Kind taint_rules;

 private:
  // Connects a kind's first list to synced(), and its errors to the log; the watcher retries by
  // itself.
  void Prepare(Kind& kind, std::string_view name, Log& log);

  std::vector<std::function<void()>> on_synced_;
};

}  // namespace galen::cluster_sim
