#include "base/loop/epoll_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>

#include "base/fd.h"
#include "base/mutex.h"

namespace galen {
namespace {

// Numbers that epoll carries for our own two descriptors; watches count from the next number on.
// Not pointers: an event that epoll has handed out already may name a watch that an earlier
// callback of the same turn has ended, and a number can be looked up safely.
constexpr std::uint64_t kMailboxId = 0;
constexpr std::uint64_t kTimerId = 1;
constexpr std::uint64_t kFirstWatchId = 2;
// Events that one turn takes from epoll. The rest is level-triggered and comes in the next turn,
// after the mailbox and the timers have had theirs.
constexpr std::size_t kEventsPerTurnMax = 64;

std::uint32_t ToEpoll(Readiness interest) {
  return (interest.readable ? std::uint32_t{EPOLLIN} : 0U) |
         (interest.writable ? std::uint32_t{EPOLLOUT} : 0U);
}

Readiness FromEpoll(std::uint32_t events) {
  return {.readable = (events & EPOLLIN) != 0,
          .writable = (events & EPOLLOUT) != 0,
          .hung_up = (events & (EPOLLHUP | EPOLLERR)) != 0};
}

epoll_event EpollEvent(std::uint32_t events, std::uint64_t id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return event;
}

void Drain(const Fd& fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd.get(), &count, sizeof(count));
}

}  // namespace

struct EpollLoop::Impl {
  using TimerKey = std::pair<Time, std::uint64_t>;
  struct Watch {
    int fd = -1;
    std::function<void(Readiness)> on_ready;
  };
  class TimerEntry;
  class WatchEntry;

  ~Impl();

  // All of these are called by Run's thread, except Wake.
  void Wake();
  void RunPosted();
  void RunDue();
  void Sleep();
  void Arm();
  void Dispatch(const epoll_event& event);
  bool PrepareToSleep();
  void Forget(std::uint64_t id);
  // Runs one task or callback.
  template <typename F>
  void Step(F step) {
    const Time began = std::chrono::steady_clock::now();
    step();
    const Duration took = std::chrono::steady_clock::now() - began;
    steps.longest = std::max(steps.longest, took);
    steps.long_ones += took > kLongStep;
  }

  Steps steps;
  Fd epoll;
  Fd mailbox;  // readable when something was posted while the loop slept
  Fd clock;    // readable when the first timer is due
  // The time that the clock is set to, so that a turn that changes no first timer makes no system
  // call.
  Time armed = Time::max();
  // Just before descriptors were last looked at: what came until then has been dispatched.
  Time looked{};

  // The only state that threads share: the mailbox, and whether its owner must be woken.
  Mutex mu;
  std::deque<Task> posted GALEN_GUARDED_BY(mu);
  bool asleep GALEN_GUARDED_BY(mu) = false;
  std::atomic<bool> stop = false;

  std::deque<Task> batch;  // taken from the mailbox, not run yet
  // By time, then by the order of asking; the number makes each key unique.
  std::map<TimerKey, Task> timers;
  // By pointer, so that `running` stays valid while a callback adds and ends watches.
  std::map<std::uint64_t, std::unique_ptr<Watch>> watches;
  std::uint64_t next_timer = 0;
  std::uint64_t next_watch = kFirstWatchId;
  // The watch whose callback runs, kept until it returns even when it ends its own watch.
  Watch* running = nullptr;
  std::unique_ptr<Watch> ended;
};

class EpollLoop::Impl::TimerEntry final : public Timer::Entry {
 public:
  TimerEntry(Impl& loop, TimerKey key) : loop_(loop), key_(key) {}
  // The task dies after it has left the map: its captures may hold timers of their own.
  ~TimerEntry() override { auto node = loop_.timers.extract(key_); }

 private:
  Impl& loop_;
  const TimerKey key_;
};

class EpollLoop::Impl::WatchEntry final : public FdWatch::Entry {
 public:
  WatchEntry(Impl& loop, std::uint64_t id, int fd) : loop_(loop), id_(id), fd_(fd) {}
  // An entry goes before its loop does; see FdWatch.
  ~WatchEntry() override { loop_.Forget(id_); }

  void SetInterest(Readiness interest) override {
    epoll_event event = EpollEvent(ToEpoll(interest), id_);
    GALEN_CHECK(::epoll_ctl(loop_.epoll.get(), EPOLL_CTL_MOD, fd_, &event) == 0);
  }

 private:
  Impl& loop_;
  const std::uint64_t id_;
  const int fd_;
};

// Tasks that are destroyed here may post and may own timers: rounds, until nothing is left.
EpollLoop::Impl::~Impl() {
  std::deque<Task> rest;
  do {
    rest.clear();
    while (!timers.empty()) auto node = timers.extract(timers.begin());
    rest.swap(batch);
    MutexLock lock(mu);
    for (; !posted.empty(); posted.pop_front()) rest.push_back(std::move(posted.front()));
  } while (!rest.empty() || !timers.empty());
}

// An eventfd write costs a system call, so it is made only for a loop that sleeps.
void EpollLoop::Impl::Wake() {
  const std::uint64_t one = 1;
  // The only failure is a counter that is already full, and then the loop wakes anyway.
  [[maybe_unused]] const ssize_t written = ::write(mailbox.get(), &one, sizeof(one));
}

// Only what was posted before; what these tasks post runs in the next turn, after descriptors.
void EpollLoop::Impl::RunPosted() {
  // A batch that Stop cut short is finished first: order is kept across runs.
  if (batch.empty()) {
    MutexLock lock(mu);
    batch.swap(posted);
  }
  while (!batch.empty() && !stop) {
    Task task = std::move(batch.front());
    batch.pop_front();
    Step([&] { task(); });
  }
}

// Only what was asked for before, so that a task that asks for "now" again starves nobody; and only
// what was due when the descriptors were looked at, so that a process that was stopped, or got no
// processor, does not take for silence what it has not read yet.
void EpollLoop::Impl::RunDue() {
  if (timers.empty()) return;
  const TimerKey last(looked, next_timer);
  while (!timers.empty() && timers.begin()->first <= last && !stop) {
    if (timers.begin()->first.second >= last.second) return;
    // Taken out of the map before it runs: the task may cancel itself, or ask for new timers.
    auto node = timers.extract(timers.begin());
    Step([&] { node.mapped()(); });
  }
}

void EpollLoop::Impl::Sleep() {
  looked = std::chrono::steady_clock::now();
  const bool due = !timers.empty() && timers.begin()->first.first <= looked;
  // Decided under the lock, and before the clock is armed: a Post after this writes the mailbox, so
  // epoll_wait returns at once. No wake-up can be lost in between.
  const bool may_block = !due && PrepareToSleep();
  if (may_block) Arm();
  std::array<epoll_event, kEventsPerTurnMax> events;
  const int count =
      ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), may_block ? -1 : 0);
  // EINTR is a debugger or a stopped process that goes on; the turn is simply empty, and what fell
  // due meanwhile waits for the next.
  GALEN_CHECK(count >= 0 || errno == EINTR);
  {
    MutexLock lock(mu);
    asleep = false;
  }
  for (int i = 0; i < count && !stop; ++i) Dispatch(events[static_cast<std::size_t>(i)]);
}

// Whether the loop has nothing to run; from then on Post wakes it.
bool EpollLoop::Impl::PrepareToSleep() {
  if (!batch.empty()) return false;
  MutexLock lock(mu);
  asleep = posted.empty() && !stop;
  return asleep;
}

// Sets the clock to the first timer, if that is not what it is set to.
void EpollLoop::Impl::Arm() {
  const Time first = timers.empty() ? Time::max() : timers.begin()->first.first;
  if (first == armed) return;
  armed = first;
  itimerspec when{};  // zero: never
  if (first != Time::max()) {
    // A timerfd on CLOCK_MONOTONIC shares steady_clock's epoch, so absolute times pass unchanged.
    const auto since_boot = first.time_since_epoch();
    const auto whole = std::chrono::floor<std::chrono::seconds>(since_boot);
    when.it_value.tv_sec = whole.count();
    when.it_value.tv_nsec = (since_boot - whole).count();
  }
  GALEN_CHECK(::timerfd_settime(clock.get(), TFD_TIMER_ABSTIME, &when, nullptr) == 0);
}

void EpollLoop::Impl::Dispatch(const epoll_event& event) {
  const std::uint64_t id = event.data.u64;  // a copy: the kernel's struct is packed
  if (id == kMailboxId) return Drain(mailbox);
  if (id == kTimerId) {
    armed = Time::max();
    return Drain(clock);
  }
  const auto found = watches.find(id);
  if (found == watches.end()) return;  // ended by a callback before it in this turn
  // Remembered so that Forget can distinguish a watch that ends itself from one that ends another.
  running = found->second.get();
  Step([&] { running->on_ready(FromEpoll(event.events)); });
  running = nullptr;
  ended.reset();
}

void EpollLoop::Impl::Forget(std::uint64_t id) {
  auto node = watches.extract(id);
  // Fails when the owner has closed the descriptor first, which ends the watch as well.
  ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, node.mapped()->fd, nullptr);
  if (node.mapped().get() == running) ended = std::move(node.mapped());
}

EpollLoop::EpollLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EpollLoop::~EpollLoop() = default;

StatusOr<std::unique_ptr<EpollLoop>> EpollLoop::Create() {
  auto impl = std::make_unique<Impl>();
  impl->epoll = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!impl->epoll) return ErrnoStatus(errno, "create epoll");
  impl->mailbox = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl->mailbox) return ErrnoStatus(errno, "create eventfd");
  impl->clock = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!impl->clock) return ErrnoStatus(errno, "create timerfd");
  for (const auto& [fd, id] :
       {std::pair(impl->mailbox.get(), kMailboxId), std::pair(impl->clock.get(), kTimerId)}) {
    epoll_event event = EpollEvent(EPOLLIN, id);
    if (::epoll_ctl(impl->epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return ErrnoStatus(errno, "watch the loop's own descriptors");
    }
  }
  return std::unique_ptr<EpollLoop>(new EpollLoop(std::move(impl)));
}

const EpollLoop::Steps& EpollLoop::steps() const { return impl_->steps; }

Time EpollLoop::Clock() { return std::chrono::steady_clock::now(); }
Time EpollLoop::Now() const { return Clock(); }
WallTime EpollLoop::WallNow() const { return std::chrono::system_clock::now(); }

void EpollLoop::Post(Task task) {
  bool wake = false;
  {
    MutexLock lock(impl_->mu);
    impl_->posted.push_back(std::move(task));
    // Whoever finds the loop asleep wakes it, and only the first one: later posts see it awake.
    wake = std::exchange(impl_->asleep, false);
  }
  if (wake) impl_->Wake();
}

Timer EpollLoop::At(Time when, Task task) {
  const Impl::TimerKey key(std::max(when, Now()), impl_->next_timer++);
  impl_->timers.emplace(key, std::move(task));
  return Timer(std::make_unique<Impl::TimerEntry>(*impl_, key));
}

FdWatch EpollLoop::WatchFd(int fd, Readiness interest, std::function<void(Readiness)> on_ready) {
  const std::uint64_t id = impl_->next_watch++;
  epoll_event event = EpollEvent(ToEpoll(interest), id);
  // Fails for a descriptor that is closed, watched already or a plain file: the caller's mistake.
  GALEN_CHECK(::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  impl_->watches.emplace(id, std::make_unique<Impl::Watch>(Impl::Watch{fd, std::move(on_ready)}));
  return FdWatch(std::make_unique<Impl::WatchEntry>(*impl_, id, fd));
}

void EpollLoop::Run() {
  while (!impl_->stop) {
    impl_->RunPosted();
    impl_->RunDue();
    if (!impl_->stop) impl_->Sleep();
  }
  // For a loop that is run in pieces: the next Run must not see this Stop.
  impl_->stop = false;
}

void EpollLoop::Stop() {
  impl_->stop = true;
  // Wakes the loop even if it is awake: the lock does not guard `stop`.
  impl_->Wake();
}

}  // namespace galen
