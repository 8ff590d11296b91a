#include "base/files/disk_thread.h"

#include <pthread.h>

#include <csignal>
#include <utility>

#include "base/check.h"

namespace galen {

DiskThread::DiskThread(Loop& loop) : loop_(loop) {
  // The thread inherits the mask: signals are the loop's.
  sigset_t all, before;
  sigfillset(&all);
  GALEN_CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  thread_ = std::thread([this] { Work(); });
  GALEN_CHECK(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
}

DiskThread::~DiskThread() {
  Give({});
  thread_.join();
}

void DiskThread::Run(Task work, Task done) { Give({std::move(work), std::move(done)}); }

bool DiskThread::idle() const {
  MutexLock lock(mu_);
  return undone_ == 0;
}

void DiskThread::Give(Job job) {
  {
    MutexLock lock(mu_);
    jobs_.push_back(std::move(job));
    ++undone_;
  }
  given_.release();
}

void DiskThread::Work() {
  // For those who look at the process with top or gdb.
  pthread_setname_np(pthread_self(), "disk");
  while (true) {
    given_.acquire();
    Job job;
    {
      MutexLock lock(mu_);
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (!job.work) return;
    job.work();
    job.work = {};
    {
      MutexLock lock(mu_);
      --undone_;
    }
    loop_.Post(std::move(job.done));
  }
}

}  // namespace galen
