// A mutex that clang's thread-safety analysis and ThreadSanitizer both understand. Wanted only
// where threads meet (a loop's mailbox, the log's sink); everything else belongs to a Loop.
#pragma once

#include <mutex>

#if defined(__clang__)
#define GALEN_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define GALEN_THREAD_ANNOTATION(x)
#endif
#define GALEN_LOCKABLE GALEN_THREAD_ANNOTATION(capability("mutex"))
#define GALEN_SCOPED_LOCKABLE GALEN_THREAD_ANNOTATION(scoped_lockable)
#define GALEN_GUARDED_BY(x) GALEN_THREAD_ANNOTATION(guarded_by(x))
#define GALEN_ACQUIRE(...) GALEN_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define GALEN_RELEASE(...) GALEN_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define GALEN_REQUIRES(...) GALEN_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

namespace galen {

class GALEN_LOCKABLE Mutex {
 public:
  void lock() GALEN_ACQUIRE() { mu_.lock(); }
  void unlock() GALEN_RELEASE() { mu_.unlock(); }

 private:
  std::mutex mu_;
};

// Holds a Mutex from here to the end of the scope.
class GALEN_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mu) GALEN_ACQUIRE(mu) : mu_(mu) { mu_.lock(); }
  ~MutexLock() GALEN_RELEASE() { mu_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

}  // namespace galen
