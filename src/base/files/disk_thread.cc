#include "base/files/disk_thread.h"

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace galen {

StatusOr<std::unique_ptr<DiskThread>> DiskThread::Start(Loop& loop, std::string name,
                                                        const Begin& begin) {
  auto disk = std::unique_ptr<DiskThread>(new DiskThread(loop, std::move(name)));
  // The thread inherits the mask: signals are the loop's.
  sigset_t all, before;
  sigfillset(&all);
  GALEN_CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  Status started;
  // The standard library has no other way to report it.
  try {
    disk->thread_ = begin([queue = disk.get()] { queue->Work(); });
  } catch (const std::system_error& error) {
    started = ResourceExhausted(
        "start thread \"{}\": {}; raise the limit of processes (ulimit -u, pids.max of the control "
        "group)",
        disk->name_, error.code().message());
  }
  GALEN_CHECK(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  if (!started.ok()) return started;
  return disk;
}

DiskThread::~DiskThread() {
  if (!thread_.joinable()) return;  // it was never started
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
  pthread_setname_np(pthread_self(), name_.c_str());
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
