#include "probes/sysfs/detached_queue.h"

#include <pthread.h>

#include <csignal>
#include <deque>
#include <semaphore>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace galen::probes {

struct DetachedQueue::Shared {
  struct Job {
    Task work, done;
  };

  Mutex mu;                                   // between the loop's thread and the worker
  Loop* loop GALEN_GUARDED_BY(mu) = nullptr;  // null: nobody waits any more
  std::deque<Job> jobs GALEN_GUARDED_BY(mu);
  std::counting_semaphore<> given{0};
};

bool DetachedQueue::StartDetached(Task work) {
  // The thread inherits the mask: signals are the loop's.
  sigset_t all, before;
  sigfillset(&all);
  GALEN_CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  bool started = true;
  // The standard library has no other way to report it.
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  GALEN_CHECK(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  return started;
}

DetachedQueue::DetachedQueue(Loop& loop, std::string name, StartThread start_thread)
    : loop_(loop),
      name_(std::move(name)),
      start_thread_(std::move(start_thread)),
      shared_(std::make_shared<Shared>()) {
  {
    MutexLock lock(shared_->mu);
    shared_->loop = &loop;
  }
  Start();
}

void DetachedQueue::Start() {
  if (start_thread_([shared = shared_, name = name_] { Work(*shared, name); })) return;
  retry_ = loop_.After(kRetryAfter, [this] { Start(); });
}

DetachedQueue::~DetachedQueue() {
  {
    MutexLock lock(shared_->mu);
    shared_->loop = nullptr;
  }
  shared_->given.release();
}

void DetachedQueue::Run(Task work, Task done) {
  {
    MutexLock lock(shared_->mu);
    shared_->jobs.push_back({std::move(work), std::move(done)});
  }
  shared_->given.release();
}

void DetachedQueue::Work(Shared& shared, const std::string& name) {
  // For those who look at the process with top or gdb.
  pthread_setname_np(pthread_self(), name.c_str());
  while (true) {
    shared.given.acquire();
    Shared::Job job;
    {
      MutexLock lock(shared.mu);
      if (shared.loop == nullptr || shared.jobs.empty()) return;
      job = std::move(shared.jobs.front());
      shared.jobs.pop_front();
    }
    job.work();
    job.work = {};
    MutexLock lock(shared.mu);
    if (shared.loop == nullptr) return;
    // Under the lock, so that the loop is still there.
    shared.loop->Post(std::move(job.done));
  }
}

}  // namespace galen::probes
