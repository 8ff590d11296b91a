#include "base/files/thread_jobs.h"

#include <utility>

namespace galen {

void ThreadJobs::Give(Task work, Task done) {
  {
    MutexLock lock(mu_);
    jobs_.push_back({std::move(work), std::move(done)});
    ++undone_;
  }
  given_.notify_one();
}

bool ThreadJobs::idle() const {
  MutexLock lock(mu_);
  return undone_ == 0;
}

void ThreadJobs::Abandon() {
  {
    MutexLock lock(mu_);
    loop_ = nullptr;
  }
  given_.notify_one();
}

void ThreadJobs::Work() {
  while (true) {
    Job job;
    {
      MutexLock lock(mu_);
      while (jobs_.empty() && loop_ != nullptr) given_.wait(mu_);
      if (loop_ == nullptr) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (!job.work) return;
    job.work();
    job.work = {};
    MutexLock lock(mu_);
    --undone_;
    if (loop_ == nullptr) return;
    // Under the lock, so that the loop is still there.
    loop_->Post(std::move(job.done));
  }
}

}  // namespace galen
