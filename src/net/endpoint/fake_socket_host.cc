// Tested by socket_host_contract_test.cc.
#include "net/endpoint/fake_socket_host.h"

#include <algorithm>
#include <utility>

#include "base/liveness.h"
#include "base/path.h"

namespace galen::net {
namespace {

// Short beside any deadline of ours, long beside the delays of a FakeNetwork.
constexpr Duration kDrain = std::chrono::milliseconds(100);

}  // namespace

class FakeSocketHost::Socket final : public ListeningSocket {
 public:
  Socket(FakeSocketHost& host, std::string path, HttpHandler& handler)
      : host_(host), path_(std::move(path)), handler_(handler) {}
  ~Socket() override {
    if (InPlace()) host_.RemoveFile(path_);
    host_.network_.EndAll("unix:" + path_, handler_);
  }

  bool InPlace() const override {
    const auto it = host_.sockets_.find(path_);
    return it != host_.sockets_.end() && it->second == this;
  }
  // Answers that were given arrive meanwhile.
  void Drain(Duration deadline, std::function<void()> done) override {
    if (InPlace()) host_.RemoveFile(path_);
    draining_ = host_.loop_.After(std::min<Duration>(deadline, kDrain), std::move(done));
  }

 private:
  FakeSocketHost& host_;
  const std::string path_;
  HttpHandler& handler_;
  Timer draining_;
};

class FakeSocketHost::DirectoryWatch final : public PlaceWatch {
 public:
  DirectoryWatch(FakeSocketHost& host, std::string directory, std::function<void()> on_change)
      : host_(host), directory_(std::move(directory) + "/"), on_change_(std::move(on_change)) {
    host_.watches_.push_back(this);
  }
  ~DirectoryWatch() override { std::erase(host_.watches_, this); }

  void Notify(const std::string& path) {
    if (!path.starts_with(directory_)) return;
    host_.loop_.Post([this, watch = Liveness::Watch(liveness_)] {
      if (watch.alive()) on_change_();
    });
  }

 private:
  FakeSocketHost& host_;
  const std::string directory_;
  const std::function<void()> on_change_;
  // Dies with the watch, so that a posted notice finds nobody.
  Liveness liveness_;
};

StatusOr<std::unique_ptr<ListeningSocket>> FakeSocketHost::Listen(const std::string& path,
                                                                  HttpHandler& handler) {
  if (!fault_.ok()) return fault_;
  if (sockets_.contains(path)) return AlreadyExists("somebody listens on {}", path);
  network_.Listen("unix:" + path, handler);
  auto socket = std::make_unique<Socket>(*this, path, handler);
  sockets_[path] = socket.get();
  ++made_[path];
  Notify(path, true);
  return std::unique_ptr<ListeningSocket>(std::move(socket));
}

StatusOr<std::unique_ptr<PlaceWatch>> FakeSocketHost::Watch(const std::string& directory,
                                                            std::function<void()> on_change) {
  if (!watch_fault_.ok()) return watch_fault_;
  return std::unique_ptr<PlaceWatch>(
      std::make_unique<DirectoryWatch>(*this, directory, std::move(on_change)));
}

bool FakeSocketHost::OthersListen(const std::string& directory, const std::string& own) {
  return std::any_of(sockets_.begin(), sockets_.end(), [&](const auto& entry) {
    return entry.first != own && ParentOf(entry.first) == directory;
  });
}

std::optional<std::string> FakeSocketHost::MarkOf(const std::string& path) {
  if (!sockets_.contains(path)) return std::nullopt;
  return std::to_string(made_[path]);
}

std::set<std::string> FakeSocketHost::sockets() const {
  std::set<std::string> paths;
  for (const auto& [path, socket] : sockets_) paths.insert(path);
  return paths;
}

void FakeSocketHost::RemoveFile(const std::string& path) {
  if (sockets_.erase(path) == 0) return;
  network_.StopAccepting("unix:" + path);
  Notify(path, false);
}

void FakeSocketHost::Notify(const std::string& path, bool there) {
  if (listener_) listener_(path, there);
  for (DirectoryWatch* watch : watches_) watch->Notify(path);
}

}  // namespace galen::net
