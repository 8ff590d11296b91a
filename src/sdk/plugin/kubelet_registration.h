// Registers a device plugin with the kubelet, and again whenever the kubelet has forgotten it:
// after its restart, which makes its socket anew, and when it closes the stream of the plugin's
// list. Belongs to its loop.
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

// A kubelet that accepted the plugin reads its list for as long as both live, so the open stream is
// the proof of registration: while it is open, and the kubelet's socket is the same, nothing is
// done. A second registration while it reads is refused (1.37), or mixes up its two streams
// (older kubelets).
class KubeletRegistration {
 public:
  // The delay between tries; shorter when the kubelet makes its socket anew.
  static constexpr BackoffPolicy kAgain{.first = std::chrono::milliseconds(500),
                                        .most = std::chrono::seconds(30)};
  // The deadline of a Register call, in which the kubelet dials the plugin for up to 10 s.
  static constexpr Duration kDeadline = std::chrono::seconds(15);
  // How long the kubelet may take to open its stream once it has accepted a registration; after
  // that the plugin registers again.
  static constexpr Duration kStreamWithin = std::chrono::seconds(10);
  // A stream that lasted this long did not end because of its registration: the next one is made at
  // once, without backoff.
  static constexpr Duration kSettled = std::chrono::seconds(10);
  // A periodic check beside the watch on the directory, which some file systems do not support.
  static constexpr Duration kLookPeriod = std::chrono::seconds(10);

  // What it needs of the process; borrowed.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    Random& random;
    net::SocketHost& sockets;
    net::Dialer& dialer;
  };
  // What to register, and at which socket.
  struct Options {
    std::string kubelet_socket;  // "/var/lib/kubelet/device-plugins/kubelet.sock"
    std::string endpoint;        // the file name of the plugin's socket, in the same directory
    std::string resource;
  };

  // The arguments outlive it; it takes over the service's OnKubelet callback.
  KubeletRegistration(Parts parts, Options options, PluginService& service);
  ~KubeletRegistration() { service_.OnKubelet(nullptr); }

  // Once, when the plugin's socket exists.
  void Start();
  // Stops registering.
  void Stop();

  bool registered() const;
  // "" while registered, else the reason.
  std::string WhyNot() const;

 private:
  // Registers if needed.
  void Look();
  void LookNowAndThen();
  void LookAfter(Duration delay);
  void Register();
  void OnAnswer(const Status& status);
  // Logs it unless it was logged last.
  void NoteTrouble(const std::string& trouble);
  void OnKubelet(bool listens);

  const Parts parts_;
  const Options options_;
  PluginService& service_;
  std::unique_ptr<net::PlaceWatch> watch_;
  // the mark of the kubelet's socket that was last registered with
  std::optional<std::string> asked_;
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::unique_ptr<rpc::Call> call_;
  bool asking_ = false;
  bool waiting_ = false;  // timer_ is set
  bool stopped_ = false;
  Time listens_since_{};
  std::string trouble_;
  Backoff backoff_{kAgain};
  Timer timer_;
  Timer look_timer_;
  Timer end_timer_;
};

}  // namespace galen::sdk
