// Keeps requests to the API alive until they are answered, for parts that only need the answer.
// Such a part has one of these as a member, so that its calls end with it. Belongs to its loop;
// destroying it cancels calls under way, and no answer comes after that.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/liveness.h"
#include "kube/client.h"

namespace galen::cluster_sim {

class ApiCalls {
 public:
  // The object, or the server's refusal, as from kube::Client::Do.
  using Answer = std::function<void(StatusOr<Json>)>;

  // The loop and the client outlive this.
  ApiCalls(Loop& loop, kube::Client& client) : loop_(loop), client_(client) {}
  ApiCalls(const ApiCalls&) = delete;

  // `answer` runs once, later and never from inside Do. It may destroy this, and may call Do again.
  // There is no limit of calls under way: the callers' work queues bound it.
  void Do(net::HttpRequest request, Answer answer);
  // Calls that are not answered yet.
  std::size_t under_way() const { return calls_.size(); }

 private:
  // Moves a call out of `calls_` without destroying it yet.
  void Retire(std::uint64_t id);

  Loop& loop_;
  kube::Client& client_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::unique_ptr<net::HttpCall>> calls_;
  // Answered, but still on the stack of their own callback: destroyed a turn later.
  std::vector<std::unique_ptr<net::HttpCall>> answered_;
  // Dies with this, so that a late turn does nothing.
  Liveness liveness_;
};

}  // namespace galen::cluster_sim
