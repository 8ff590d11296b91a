#include "cluster_sim/controllers/api_calls.h"

namespace galen::cluster_sim {

void ApiCalls::Do(net::HttpRequest request, Answer answer) {
  const std::uint64_t id = ++last_id_;
  calls_[id] =
      client_.Do(std::move(request), [this, id, answer = std::move(answer)](StatusOr<Json> result) {
        // First: `answer` may destroy this, and then no member may be used.
        Retire(id);
        answer(std::move(result));
      });
}

void ApiCalls::Retire(std::uint64_t id) {
  // The call's own callback is running, so it cannot be destroyed now. One posted turn destroys all
  // calls that were answered until then.
  answered_.push_back(std::move(calls_.extract(id).mapped()));
  if (answered_.size() > 1) return;
  loop_.Post([this, watch = Liveness::Watch(liveness_)] {
    if (watch.alive()) answered_.clear();
  });
}

}  // namespace galen::cluster_sim
