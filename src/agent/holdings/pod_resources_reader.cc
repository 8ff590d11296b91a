#include "agent/holdings/pod_resources_reader.h"

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"

namespace galen::agent {
namespace {

constexpr std::string_view kList = "/v1.PodResourcesLister/List";

}  // namespace

void PodResourcesReader::Look() {
  if (asking_) {
    again_ = true;
    return;
  }
  const Time now = edges_.loop.Now();
  Duration delay = kRest;
  if (asked_) delay = std::max(delay, *asked_ + kLeast - now);
  // A change does not shorten the wait for a kubelet that did not answer.
  if (!trouble_.empty() && planned_) delay = std::max(delay, *planned_ - now);
  wait_ = trouble_.empty() ? kAgain : wait_;
  if (!planned_ || now + delay < *planned_) Plan(delay);
}

std::string PodResourcesReader::trouble() const {
  return trouble_.empty() || !calls_.needs() ? "" : trouble_;
}

void PodResourcesReader::Plan(Duration delay) {
  planned_ = edges_.loop.Now() + delay;
  next_ = edges_.loop.After(delay, [this] { Ask(); });
}

void PodResourcesReader::Ask() {
  asking_ = true;
  planned_.reset();
  asked_ = edges_.loop.Now();
  calls_.on_ask();
  dialling_ = edges_.dialer.Dial(
      {.target = "unix:" + options_.socket, .tls = {}, .connect_timeout = kDeadline},
      [this](StatusOr<std::unique_ptr<net::Connection>> connection) {
        if (!connection.ok()) return Conclude(connection.status());
        OnConnected(std::move(connection).value());
      });
}

void PodResourcesReader::OnConnected(std::unique_ptr<net::Connection> connection) {
  connection_ = std::move(connection);
  channel_ = std::make_unique<rpc::Channel>(
      edges_.loop, *connection_, rpc::Channel::Options{.message_bytes_max = kAnswerBytesMax});
  // The request has no fields.
  call_ = channel_->Unary(kList, "", kDeadline,
                          [this](const StatusOr<std::string>& reply) { OnReply(reply); });
}

void PodResourcesReader::OnReply(const StatusOr<std::string>& reply) {
  if (!reply.ok()) return Conclude(Annotate(reply.status(), "List"));
  const StatusOr<PodResourcesAnswer> answer = DecodePodResources(*reply, options_.node);
  if (answer.ok()) Take(*answer);
  Conclude(Annotate(answer.status(), "List"));
}

void PodResourcesReader::Take(const PodResourcesAnswer& answer) {
  if (!first_answer_) first_answer_ = edges_.loop.Now();
  for (const PodResourcesAnswer::Fault& fault : answer.faults) {
    if (!logged_.First(fault.where)) continue;
    edges_.log.Warning("not all that the kubelet says of its Pods' devices can be used",
                       {{"where", fault.where}, {"why", fault.why}});
  }
  calls_.on_answer(answer);
}

// From the loop: the caller may be part of the call that ends.
void PodResourcesReader::Conclude(const Status& status) {
  edges_.metrics.Add(metric::kPodResourcesLists, {{"result", status.ok() ? "ok" : "error"}});
  const std::string before = std::exchange(trouble_, status.ok() ? "" : status.message());
  if (!status.ok() && before != trouble_ && calls_.needs()) {
    edges_.log.Warning("kubelet does not say which devices its Pods have",
                       {{"socket", options_.socket}, {"error", trouble_}});
  }
  if (status.ok() && !before.empty()) edges_.log.Info("kubelet says which devices its Pods have");
  conclude_ = edges_.loop.After(Duration::zero(), [this] {
    Close();
    asking_ = false;
    const bool again = std::exchange(again_, false);
    const bool soon = !trouble_.empty() || calls_.waits();
    if (!soon) wait_ = kAgain;
    Plan(soon ? wait_ : kPeriod);
    if (soon) wait_ = std::min(kPeriod, 2 * wait_);
    if (again) Look();
  });
}

void PodResourcesReader::Close() {
  call_.reset();
  channel_.reset();
  connection_.reset();
  dialling_.reset();
}

}  // namespace galen::agent
