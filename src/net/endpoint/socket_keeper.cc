#include "net/endpoint/socket_keeper.h"

#include <utility>

#include "base/path.h"

namespace galen::net {
namespace {

// While a kubelet is installed anew its directories come and go for a few seconds.
constexpr BackoffPolicy kListenAgain{.first = std::chrono::milliseconds(200),
                                     .most = std::chrono::seconds(10)};
// Only where directories cannot be watched.
constexpr Duration kLookPeriod = std::chrono::seconds(10);
// Each new file makes the kubelet ask again; its own backoff goes up to two minutes as well.
constexpr BackoffPolicy kRemake{.first = std::chrono::seconds(2), .most = std::chrono::minutes(2)};

}  // namespace

SocketKeeper::SocketKeeper(Parts parts, std::string path, HttpHandler& handler)
    : parts_(parts),
      path_(std::move(path)),
      directory_(ParentOf(path_)),
      handler_(handler),
      backoff_(kListenAgain),
      remake_backoff_(kRemake) {}

Status SocketKeeper::Start() {
  RETURN_IF_ERROR(Listen());
  StatusOr<std::unique_ptr<PlaceWatch>> watch =
      parts_.sockets.Watch(directory_, [this] { Look(); });
  if (watch.ok()) {
    watch_ = std::move(*watch);
    return OkStatus();
  }
  // Such as when the machine's inotify instances are used up.
  parts_.log.Warning("a directory cannot be watched; looking at it now and then",
                     {{"directory", directory_}, {"error", watch.status().message()}});
  LookNowAndThen();
  return OkStatus();
}

void SocketKeeper::LookNowAndThen() {
  look_timer_ = parts_.loop.After(kLookPeriod, [this] {
    Look();
    LookNowAndThen();
  });
}

void SocketKeeper::RemakeLater() {
  if (stopped_ || waiting_) return;
  waiting_ = true;
  // Not now: whoever asks may be answering a call on this very socket.
  timer_ = parts_.loop.After(remake_backoff_.Next(parts_.random), [this] {
    waiting_ = false;
    socket_.reset();
    Look();
  });
}

void SocketKeeper::Stop() {
  stopped_ = true;
  timer_.Cancel();
  look_timer_.Cancel();
  watch_.reset();
  socket_.reset();
}

void SocketKeeper::Drain(Duration deadline, std::function<void()> done) {
  stopped_ = true;
  timer_.Cancel();
  look_timer_.Cancel();
  watch_.reset();
  if (!socket_) return done();
  socket_->Drain(deadline, std::move(done));
}

Status SocketKeeper::Listen() {
  RETURN_IF_ERROR(parts_.files.MakeDirectories(directory_));
  StatusOr<std::unique_ptr<ListeningSocket>> fresh = parts_.sockets.Listen(path_, handler_);
  if (!fresh.ok()) return Annotate(fresh.status(), "listen on {}", path_);
  // The old one goes only now, and leaves the new file alone, since it is not its own.
  socket_ = std::move(*fresh);
  backoff_.Reset();
  logged_trouble_.clear();
  return OkStatus();
}

void SocketKeeper::Look() {
  // Every notice ends here, also of files that are none of ours: looking is cheap, and what it
  // finds decides.
  if (stopped_ || waiting_ || (socket_ && socket_->InPlace())) return;
  parts_.log.Info("socket is gone; making it again", {{"path", path_}});
  const Status status = Listen();
  if (status.ok()) return;
  if (std::exchange(logged_trouble_, status.message()) != status.message()) {
    parts_.log.Warning("socket cannot be made; trying again", {{"error", status.message()}});
  }
  LookAfter(backoff_.Next(parts_.random));
}

void SocketKeeper::LookAfter(Duration delay) {
  waiting_ = true;
  timer_ = parts_.loop.After(delay, [this] {
    waiting_ = false;
    Look();
  });
}

}  // namespace galen::net
