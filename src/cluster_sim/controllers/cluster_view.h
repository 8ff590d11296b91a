// The cluster as its controllers see it: the kinds they all read, each followed once (list, then
// watch) and shared. Read only by controllers; what one wrote is seen here a little later, never at
// once. Belongs to the loop.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/log.h"
#include "kube/informer.h"

namespace galen::cluster_sim {

class ClusterView {
 public:
  // Objects whole but for managedFields, by ObjectKey.
  using Kind = kube::Informer<Json>;

  // Names of indexes, for Kind::Lookup.
  static constexpr const char* kByNode = "node";  // pods not done by spec.nodeName; "" = none yet
  static constexpr const char* kByTemplate = "template";  // pods by "ns/template"
  static constexpr const char* kByClaim = "claim";        // pods by "ns/claim"
  static constexpr const char* kByPod = "pod";            // claims by uids of owner and holders
  static constexpr const char* kByDevice = "device";  // claims by "driver/pool/device" they hold

  // What is lent outlives the view.
  ClusterView(Loop& loop, kube::Client& client, Random& random, Log& log);

  // Begins to list and watch all kinds. Once, after every controller has added its listeners.
  void Start();
  // All kinds are known whole. Controllers do nothing before: half a view is misleading: a Pod
  // seems gone when its kind was not listed yet. Never false again.
  bool synced() const;
  // Before Start(). Runs once, when the last kind's first list is known whole.
  void OnSynced(std::function<void()> callback) { on_synced_.push_back(std::move(callback)); }

  Kind pods;
  Kind nodes;
  Kind claims;
  Kind templates;
  Kind classes;
  Kind slices;
  Kind taint_rules;

 private:
  // Ties a kind's first list to synced(), and its troubles to the log; the watcher repeats by
  // itself.
  void Prepare(Kind& kind, std::string_view name, Log& log);

  std::vector<std::function<void()>> on_synced_;
};

}  // namespace galen::cluster_sim
