// Plays the kubelet's health reader towards one driver, and then several at once, ones that leave
// and ones that break off. Belongs to its loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/link.h"

namespace galen::conformance {

class HealthProbe {
 public:
  // `edges` is lent. `endpoint` is the driver's data socket, `info` what it announces.
  HealthProbe(const Edges& edges, std::string endpoint, const Info& info);

  // One stream a version that is announced, kept open until Finish; waits for the first reports.
  void OpenSteady();
  // What a kubelet that uses the driver could feel: many subscribers, cancels, broken connections.
  // A driver that serves only one subscriber takes it from the kubelet then.
  void Crowd();
  // What a driver answers on the versions that it does not announce.
  void AskUnannounced();
  // Listens on until every device of each steady stream was reported again, or its time is over, or
  // `patience` has passed since the streams were opened.
  void Listen(Duration patience);
  // Ends the streams.
  HealthSeen Finish();

  // In 5 s a kubelet that was answered nothing would be shown Unknown for all devices.
  static constexpr Duration kFirstReportLimit = std::chrono::seconds(5);
  static constexpr int kCrowd = 8;

 private:
  struct Stream {
    std::unique_ptr<Link> link;  // outlives the subscription
    std::unique_ptr<Subscription> subscription;
  };

  Stream Open(const std::string& version, std::string_view request = "");
  void AwaitFirst(const std::vector<Subscription*>& subscriptions);
  StreamSeen OpenAndHear(const std::string& version, std::string_view request = "");
  void CrowdAtOnce();
  void ShareConnection();
  void CancelAndAskAgain();
  void BreakAndComeAgain();
  bool RepeatedOrOver(const StreamSeen& seen) const;

  const Edges& edges_;
  const std::string endpoint_;
  std::vector<std::string> versions_;  // announced, newest first: "v1", "v1alpha1"
  std::vector<std::string> others_;    // not announced
  std::vector<Stream> steady_;
  HealthSeen seen_;
};

}  // namespace galen::conformance
