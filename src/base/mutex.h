// A mutex that clang's thread-safety analysis and ThreadSanitizer both understand: libstdc++'s
// carries no annotations, and a sanitizer must see the real std::mutex below. Only for state that
// threads share (a loop's mailbox, the jobs of a disk's thread, a check's progress, the log's
// sink); all other state belongs to a Loop. Held for a few lines. Only two calls out are made under
// it: the log's sink, so that lines never mix, and the Post of a loop that may not go meanwhile.
#pragma once

#include <mutex>

#if defined(__clang__)
#define GALEN_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define GALEN_THREAD_ANNOTATION(x)
#endif
// Annotations for clang's -Wthread-safety; other compilers see nothing. GUARDED_BY on a member:
// only with that mutex held. REQUIRES on a function: the caller holds it.
#define GALEN_LOCKABLE GALEN_THREAD_ANNOTATION(capability("mutex"))
#define GALEN_SCOPED_LOCKABLE GALEN_THREAD_ANNOTATION(scoped_lockable)
#define GALEN_GUARDED_BY(x) GALEN_THREAD_ANNOTATION(guarded_by(x))
#define GALEN_ACQUIRE(...) GALEN_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define GALEN_RELEASE(...) GALEN_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define GALEN_REQUIRES(...) GALEN_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

namespace galen {

// Not recursive. Use MutexLock; lock and unlock are for it and for std::lock_guard.
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
