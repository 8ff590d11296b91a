// The registration service, which the kubelet, or an agent that watches the registry directory,
// calls to learn what this driver is. Belongs to its loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "rpc/service.h"

namespace galen::sdk {

// The driver is the server here, the kubelet or an agent in the manager role the client. Its
// answers never change, so it may be asked any number of times.
class RegistrationService {
 public:
  // What GetInfo answers.
  struct Options {
    std::string driver;
    std::string endpoint;  // absolute path of the data socket
    std::string type = "DRAPlugin";
    bool has_claims = true;
    bool has_health = false;
  };

  RegistrationService(Log& log, Metrics& metrics, Options options);

  // Adds GetInfo and NotifyRegistrationStatus. The dispatcher calls this for as long as it serves.
  void Serve(rpc::Dispatcher& dispatcher);
  // Called with the outcome of each registration: "" for success, else the reason.
  void OnOutcome(std::function<void(const std::string& refusal)> callback) {
    on_outcome_ = std::move(callback);
  }

  // Whether the last outcome was success. False until a kubelet, or an agent in the manager role,
  // has reported one.
  bool registered() const { return registered_; }
  // In the order of preference: a kubelet takes the first DRA service that it knows.
  std::vector<std::string> SupportedVersions() const;

 private:
  void TakeOutcome(bool registered, const std::string& error);

  Log& log_;
  Metrics& metrics_;
  const Options options_;
  bool registered_ = false;
  std::string last_refusal_;
  std::function<void(const std::string&)> on_outcome_;
};

}  // namespace galen::sdk
