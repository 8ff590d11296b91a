#include "base/files/detached_queue.h"

#include <utility>

namespace galen {

DetachedQueue::DetachedQueue(Loop& loop, std::string name, ThreadStarter start_thread)
    : loop_(loop),
      name_(std::move(name)),
      start_thread_(std::move(start_thread)),
      jobs_(std::make_shared<ThreadJobs>(loop)) {
  Start();
}

void DetachedQueue::Start() {
  StatusOr<std::thread> thread = start_thread_(name_, [jobs = jobs_] { jobs->Work(); });
  started_ = thread.status();
  if (thread.ok()) return thread->detach();
  retry_ = loop_.After(kRetryAfter, [this] { Start(); });
}

DetachedQueue::~DetachedQueue() { jobs_->Abandon(); }

void DetachedQueue::Run(Task work, Task done) { jobs_->Give(std::move(work), std::move(done)); }

}  // namespace galen
