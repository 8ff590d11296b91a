// Keeps the API server's ResourceSlices of this driver on this node as the inventory says: written
// only when they differ, brought back at once when somebody wipes them, left-overs removed.
// Belongs to its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/work_queue.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "sdk/slice_plan.h"

namespace galen::sdk {

class SlicePublisher {
 public:
  // What is lent outlives the publisher. `publisher` is when this instance started.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    Random& random;
    kube::Client& api;
  };
  SlicePublisher(Parts parts, SliceScope scope, std::int64_t publisher);
  ~SlicePublisher();

  void Start();
  void SetInventory(const Inventory& inventory);
  // Nothing is written any more; what is published stays.
  void Stop();

  // Everything wanted is published.
  bool settled() const { return settled_; }

 private:
  using Done = WorkQueue<std::string>::Done;
  struct Round;

  void Reconcile(Done done);
  void AskForNode();
  void Carry(const std::string& node_uid);
  void Write(net::HttpRequest request, const std::string& name);
  void OnWritten(const std::string& name, const StatusOr<Json>& answer);
  void OnRemoved(const std::string& name, const Status& status);
  void CountWrite(const std::string& name, const Status& status);
  void FinishRound();
  Json ToObject(const kube::ResourceSlice& slice, const std::string& node_uid) const;
  void TellYielded(bool yielded);
  void TellTrouble(const Status& status);

  Parts parts_;
  const SliceScope scope_;
  const std::int64_t publisher_;
  std::vector<kube::ResourceSlice> wanted_;
  std::map<std::string, PublishedSlice> have_;  // by watch, and from the answers to our own writes
  std::int64_t generation_ = 0;
  bool inventory_known_ = false;
  bool started_ = false;
  bool stopped_ = false;
  bool settled_ = false;
  bool yielded_ = false;
  std::string told_trouble_;
  std::unique_ptr<kube::Informer<PublishedSlice>> informer_;
  WorkQueue<std::string> queue_;
  std::unique_ptr<Round> round_;  // the look that is under way
  std::vector<std::unique_ptr<net::HttpCall>> calls_;
};

// A ResourceSlice object with who published it.
StatusOr<PublishedSlice> DecodePublishedSlice(const Json& object);

}  // namespace galen::sdk
