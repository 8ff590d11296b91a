// Registers a device plugin with the kubelet, and again whenever the kubelet has forgotten it: at
// its restart, which makes its socket anew, and when it lets go of the plugin's list. Belongs to
// its loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/loop/backoff.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "base/random.h"
#include "net/connection.h"
#include "net/endpoint/socket_keeper.h"
#include "rpc/channel.h"
#include "sdk/plugin/plugin_service.h"

namespace galen::sdk {

// A kubelet that took the plugin reads its list for as long as both live, so that stream is the
// registration: while it is open, and the kubelet's socket is the one that was asked, nothing is
// done. A second registration while it reads is refused (1.37), or mixes up its two streams
// (older kubelets).
class KubeletRegistration {
 public:
  // Between tries; shorter when the kubelet makes its socket anew.
  static constexpr BackoffPolicy kAgain{.first = std::chrono::milliseconds(500),
                                        .most = std::chrono::seconds(30)};
  // For the whole call: the kubelet dials the plugin in it, for up to 10 s.
  static constexpr Duration kDeadline = std::chrono::seconds(15);
  // How long the kubelet may take to open its stream once it has accepted a registration; after
  // that the plugin registers again.
  static constexpr Duration kStreamWithin = std::chrono::seconds(10);
  // A stream that lasted so long did not end because of its registration: the next one is made at
  // once, without backoff.
  static constexpr Duration kSettled = std::chrono::seconds(10);
  // Beside the watch on the directory, which some file systems do not give.
  static constexpr Duration kLookPeriod = std::chrono::seconds(10);

  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    Random& random;
    net::SocketHost& sockets;
    net::Dialer& dialer;
  };
  struct Options {
    std::string kubelet_socket;  // "/var/lib/kubelet/device-plugins/kubelet.sock"
    std::string endpoint;        // the name of the plugin's socket beside it
    std::string resource;
  };

  // What is lent outlives it; its callback for the kubelet's stream is taken.
  KubeletRegistration(Parts parts, Options options, PluginService& service);
  ~KubeletRegistration() { service_.OnKubelet(nullptr); }

  // Once, when the plugin's socket is there.
  void Start();
  // Registers no more.
  void Stop();

  bool registered() const;
  // "" while registered, else why not.
  std::string WhyNot() const;

 private:
  // Registers if that is due.
  void Look();
  void LookNowAndThen();
  void LookAfter(Duration delay);
  void Register();
  void OnAnswer(const Status& status);
  // Logs it unless it was the last one.
  void NoteTrouble(const std::string& trouble);
  void OnKubelet(bool listens);

  const Parts parts_;
  const Options options_;
  PluginService& service_;
  std::unique_ptr<net::PlaceWatch> watch_;
  std::optional<std::string> asked_;  // the mark of the kubelet's socket that was asked last
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::unique_ptr<rpc::Call> call_;
  bool asking_ = false;
  bool waiting_ = false;  // for timer_
  bool stopped_ = false;
  Time listens_since_{};
  std::string trouble_;
  Backoff backoff_{kAgain};
  Timer timer_;
  Timer look_timer_;
  Timer end_timer_;
};

}  // namespace galen::sdk
