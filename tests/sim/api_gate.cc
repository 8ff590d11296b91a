#include "tests/sim/api_gate.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "base/data/json.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// How often an agent that writes for nothing does.
constexpr Duration kRepeatAfter = 20s;
// By how much the late agent is late; less than the longest backoff, so that only a rule that knows
// when the network was fair finds it.
constexpr Duration kLateBy = 25s;

bool IsWatch(const net::HttpRequest& request) {
  return request.path.find("watch=1") != std::string::npos ||
         request.path.find("watch=true") != std::string::npos;
}

bool IsWrite(const net::HttpRequest& request) { return request.method != "GET"; }

const net::Headers kJsonHeaders = {{"content-type", "application/json"}};

std::string GoneEvent() {
  return "{\"type\":\"ERROR\",\"object\":" + RefusalAnswer(410).body + "}\n";
}

}  // namespace

// Between the API's hub and the client of one watch. The hub writes one event at a time.
class ApiGate::WatchRelay final : public net::HttpExchange {
 public:
  WatchRelay(ApiGate& gate, std::unique_ptr<net::HttpExchange> inner)
      : gate_(&gate), inner_(std::move(inner)) {
    gate_->watches_.push_back(this);
  }
  // An end that overtakes late events would lose them, so then the stream is just given up: the
  // client comes back for what it lacks.
  ~WatchRelay() override {
    if (gate_ != nullptr) std::erase(gate_->watches_, this);
  }
  // The gate goes before the API's hub, which then notifies nobody any more.
  void Forget() {
    gate_ = nullptr;
    finished_ = true;
    timer_.Cancel();
  }

  const net::HttpRequest& request() const override { return inner_->request(); }
  std::optional<net::PeerCredentials> peer() const override { return inner_->peer(); }
  void Head(int status, net::Headers headers) override { inner_->Head(status, std::move(headers)); }
  void Write(std::string bytes) override {
    if (finished_) return;
    const bool twice = gate_->weather_.events_twice;
    if (twice) Queue(bytes);
    Queue(std::move(bytes));
    Pump();
  }
  void End(net::Headers trailers) override {
    if (!finished_ && waiting_.empty()) inner_->End(std::move(trailers));
    finished_ = true;
  }
  std::size_t queued() const override { return inner_->queued() + waiting_bytes_; }
  void OnDrained(std::function<void()> callback) override {
    inner_->OnDrained([this, callback = std::move(callback)] {
      if (waiting_.empty()) callback();
    });
  }
  void OnGone(std::function<void()> callback) override {
    on_gone_ = std::move(callback);
    inner_->OnGone([this] { Gone(); });
  }

  // Sends what is due.
  void Pump() {
    while (!finished_ && !waiting_.empty() && !gate_->weather_.answers_wait) {
      if (const Time due = waiting_.front().due; due > gate_->loop_.Now()) {
        timer_ = gate_->loop_.At(due, [this] { Pump(); });
        return;
      }
      std::string event = std::move(waiting_.front().event);
      waiting_.pop_front();
      waiting_bytes_ -= event.size();
      last_ = event;
      inner_->Write(std::move(event));
    }
  }
  // Says `bytes` and ends, whatever the hub still has to say.
  void Finish(const std::string& bytes) {
    if (finished_ || gate_->weather_.answers_wait) return;
    inner_->Write(bytes);
    inner_->End();
    finished_ = true;
    timer_ = gate_->loop_.After(Duration::zero(), [this] { Gone(); });
  }
  // As of an event that changed nothing here.
  void SendBookmark() {
    if (finished_ || !waiting_.empty() || last_.empty()) return;
    const StatusOr<Json> event = Json::Parse(last_);
    if (!event.ok()) return;
    const Json& object = (*event)["object"];
    const Json bookmark = Json::MakeObject(
        {{"kind", object["kind"]},
         {"apiVersion", object["apiVersion"]},
         {"metadata",
          Json::MakeObject({{"resourceVersion", object["metadata"]["resourceVersion"]}})}});
    inner_->Write(Json::MakeObject({{"type", "BOOKMARK"}, {"object", bookmark}}).Dump() + "\n");
  }

 private:
  struct Late {
    Time due{};
    std::string event;
  };

  void Queue(std::string event) {
    Time due = gate_->loop_.Now();
    if (const auto most = gate_->weather_.watch_delay_most; most > Duration::zero()) {
      due += std::chrono::duration_cast<Duration>(most * gate_->random_.Fraction());
    }
    // In order: the events of one kind are never reordered.
    if (!waiting_.empty()) due = std::max(due, waiting_.back().due);
    waiting_bytes_ += event.size();
    waiting_.push_back({due, std::move(event)});
  }

  void Gone() {
    finished_ = true;
    if (const auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();  // may destroy this
  }

  ApiGate* gate_;
  std::unique_ptr<net::HttpExchange> inner_;
  std::deque<Late> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::string last_;  // event that was sent
  bool finished_ = false;
  std::function<void()> on_gone_;
  Timer timer_;
};

ApiGate::ApiGate(Loop& loop, Random& random, net::HttpHandler& api)
    : loop_(loop), random_(random), api_(api) {}

ApiGate::~ApiGate() {
  for (WatchRelay* watch : watches_) watch->Forget();
}

void ApiGate::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  if (!weather_.requests_wait) return Admit(std::move(exchange));
  held_.push_back(std::move(exchange));
  // Whoever gave up waiting is not served later.
  held_.back()->OnGone([this, it = std::prev(held_.end())] { held_.erase(it); });
}

void ApiGate::SetWeather(const GateWeather& weather) {
  weather_ = weather;
  if (!weather_.requests_wait) {
    for (auto& exchange : std::exchange(held_, {})) {
      exchange->OnGone(nullptr);
      Admit(std::move(exchange));
    }
  }
  if (weather_.answers_wait) return;
  for (LateAnswer& late : std::exchange(late_, {})) Send(std::move(late.exchange), late.answer);
  for (WatchRelay* watch : std::vector<WatchRelay*>(watches_)) watch->Pump();
}

void ApiGate::ExpireWatches() {
  ++expired_;
  for (WatchRelay* watch : std::vector<WatchRelay*>(watches_)) watch->Finish(GoneEvent());
}

void ApiGate::TearWatches() {
  for (WatchRelay* watch : std::vector<WatchRelay*>(watches_)) {
    watch->Finish("{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Po");
  }
}

void ApiGate::SendBookmarks() {
  for (WatchRelay* watch : std::vector<WatchRelay*>(watches_)) watch->SendBookmark();
}

void ApiGate::Admit(std::unique_ptr<net::HttpExchange> exchange) {
  // A copy: the exchange goes with its answer.
  const net::HttpRequest request = exchange->request();
  if (const auto refusal = Refusal(request)) return Send(std::move(exchange), *refusal);
  if (IsWatch(request)) return AdmitWatch(std::move(exchange));
  const WholeAnswer answer = IsAgentWrite(request)   ? AskForAgent(request)
                             : IsEventWrite(request) ? AskForEvent(request)
                                                     : Ask(request);
  // Dropping the exchange resets the stream.
  if (IsWrite(request) && random_.Chance(weather_.lost_answer_chance)) return;
  if (!weather_.answers_wait) return Send(std::move(exchange), answer);
  late_.push_back({std::move(exchange), answer});
}

void ApiGate::AdmitWatch(std::unique_ptr<net::HttpExchange> exchange) {
  if (mutant_ == AgentMutant::kDeafAfterASecond410 && expired_ >= 2) {
    exchange->Head(200, kJsonHeaders);
    silent_.push_back(std::move(exchange));
    return silent_.back()->OnGone([this, it = std::prev(silent_.end())] { silent_.erase(it); });
  }
  if (!random_.Chance(weather_.gone_chance)) {
    return api_.Handle(std::make_unique<WatchRelay>(*this, std::move(exchange)));
  }
  exchange->Head(200, kJsonHeaders);
  exchange->Write(GoneEvent());
  exchange->End();
}

std::optional<WholeAnswer> ApiGate::Refusal(const net::HttpRequest& request) {
  if (weather_.refuse_with == 0 || (weather_.refuse_with == 409 && !IsWrite(request)) ||
      !random_.Chance(weather_.refuse_chance)) {
    return std::nullopt;
  }
  return RefusalAnswer(weather_.refuse_with);
}

WholeAnswer ApiGate::Ask(const net::HttpRequest& request) { return AskAtOnce(api_, request); }

WholeAnswer ApiGate::AskForAgent(const net::HttpRequest& request) {
  const std::optional<net::HttpRequest> write = Mutated(mutant_, request, ++agent_writes_);
  if (!write) {
    if (mutant_ == AgentMutant::kPublishesUnknownLate) WriteLate(request);
    // It believes that this was written: it is shown the object with success.
    return Ask(
        {.method = "GET", .path = ObjectOf(request), .headers = request.headers, .body = {}});
  }
  delayed_.erase(ObjectOf(*write));
  WholeAnswer answer = Ask(*write);
  Note(*write, answer);
  if (mutant_ == AgentMutant::kWritesForNothing && answer.status == 200) {
    last_write_ = *write;
    repeat_ = loop_.After(kRepeatAfter, [this] { Repeat(); });
  }
  return answer;
}

WholeAnswer ApiGate::AskForEvent(const net::HttpRequest& request) {
  const std::optional<net::HttpRequest> write = MutatedEvent(mutant_, request);
  if (!write) return {201, kJsonHeaders, request.body};
  WholeAnswer answer = Ask(*write);
  if (answer.status == 200 || answer.status == 201) on_event_(answer.body);
  return answer;
}

void ApiGate::Repeat() {
  Note(*last_write_, Ask(*last_write_));
  repeat_ = loop_.After(kRepeatAfter, [this] { Repeat(); });
}

void ApiGate::WriteLate(const net::HttpRequest& write) {
  const std::string object = ObjectOf(write);
  const auto [it, first] = delayed_.try_emplace(object);
  it->second.write = write;
  if (!first) return;
  it->second.timer = loop_.After(kLateBy, [this, object] {
    const auto delayed = delayed_.extract(object);
    Note(delayed.mapped().write, Ask(delayed.mapped().write));
  });
}

void ApiGate::Note(const net::HttpRequest& request, const WholeAnswer& answer) {
  if (answer.status != 200) return;
  const std::string object = ObjectOf(request);
  const std::string version(VersionIn(answer.body));
  const bool changed = std::exchange(versions_[object], version) != version;
  on_write_({object, changed, request.body, answer.body});
}

}  // namespace galen::sim
