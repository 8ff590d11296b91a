#include "kube/watcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "kube/watch_decoder.h"

namespace galen::kube {
namespace {

// A refusal's body is a short Status object; what is past this is not read.
constexpr std::size_t kRefusalBytesMax = 64 * 1024;

// A watch that ended sooner than this without an event brought nothing: a server or proxy that
// does so all the time must not be asked in a tight loop.
constexpr Duration kShortWatch = std::chrono::seconds(1);

}  // namespace

// The state machine. In each state at most one call or timer is pending:
//   Empty      nothing asked yet
//   Listing    page `resume_` is asked for or arriving
//   Watching   events since `version_` are asked for or arriving
//   BackingOff waiting before Listing or Watching (`after_`)
struct Watcher::Impl final : net::HttpResponseSink {
  enum class State { kEmpty, kListing, kWatching, kBackingOff };

  Impl(Loop& loop_in, Client& client_in, Random& random_in, Options options_in, WatchSink& sink_in)
      : loop(loop_in),
        client(client_in),
        random(random_in),
        options(std::move(options_in)),
        sink(sink_in),
        backoff(options.backoff),
        refusals(options.refused) {}

  // These begin a list. ListAfresh asks for the first page, whatever `resume` was.
  void ListAfresh();
  void AskPage();
  void AskWatch();
  // Every change of state goes through here, so no call or timer of an earlier state can come back.
  void Enter(State next);
  // Waits by the backoff, or for `at_least` when that is longer, then goes to `next`.
  void BackOff(State next, std::optional<Duration> at_least = std::nullopt);
  void WaitFor(State next, Duration delay);

  // What arrives.
  void OnHead(int status, const net::Headers& headers) override;
  void OnData(std::string_view bytes) override;
  void OnEnd(const Status& status, const net::Headers& trailers) override;
  void OnEventBytes(std::string_view bytes);
  void OnEvent(const WatchEvent& event);

  // These end a request; each leads to exactly one next state.
  void OnPageEnd();
  void OnWatchEnd();
  void OnRefused();
  void OnExpired(const Status& status);
  void OnErrorEvent(const Status& status);
  void OnLost(const Status& status);

  void Report(const Status& status);

  Loop& loop;
  Client& client;
  Random& random;
  const Options options;
  WatchSink& sink;

  State state = State::kEmpty;
  State after = State::kListing;  // BackingOff: where to go then
  std::string resume;             // Listing: the token of the page, "" = the first; else ""
  std::string version;            // of the last list or event
  bool progress = true;           // something was achieved since we last began again at once
  int refused_watches = 0;
  Backoff backoff, refusals;
  Timer timer;  // BackingOff: its end; Listing, Watching: how long to wait for more

  std::unique_ptr<net::HttpCall> call;
  Time asked_at{};
  int http_status = 0;
  std::optional<Duration> retry_after;
  std::string refusal;
  std::optional<ItemSplitter> splitter;
  std::optional<WatchDecoder> decoder;
  std::optional<Time> last_contact;
};

void Watcher::Impl::ListAfresh() {
  resume.clear();
  AskPage();
}

void Watcher::Impl::AskPage() {
  Enter(State::kListing);
  splitter.emplace(options.resource, [this](Json item) { sink.OnInitItem(item); });
  timer = loop.After(kListStallMax, [this] { OnLost(DeadlineExceeded("no bytes for 60 s")); });
  call =
      client.Stream(List(options.resource, options.ns,
                         {.selectors = options.selectors, .limit = options.page, .resume = resume}),
                    *this);
}

void Watcher::Impl::AskWatch() {
  Enter(State::kWatching);
  decoder.emplace();
  timer = loop.After(kWatchTimeout + kWatchGrace, [this] {
    OnLost(DeadlineExceeded("the server did not end the watch in time"));
  });
  call = client.Stream(
      Watch(
          options.resource, options.ns,
          {.selectors = options.selectors, .resource_version = version, .timeout = kWatchTimeout}),
      *this);
}

// Drops everything of the previous state.
void Watcher::Impl::Enter(State next) {
  state = next;
  timer.Cancel();
  call.reset();
  http_status = 0;
  retry_after.reset();
  refusal.clear();
  splitter.reset();
  decoder.reset();
  asked_at = loop.Now();
}

void Watcher::Impl::BackOff(State next, std::optional<Duration> at_least) {
  WaitFor(next, std::max(backoff.Next(random), at_least.value_or(Duration::zero())));
}

void Watcher::Impl::WaitFor(State next, Duration delay) {
  Enter(State::kBackingOff);
  after = next;
  timer = loop.After(delay, [this] { after == State::kListing ? AskPage() : AskWatch(); });
}

void Watcher::Impl::OnHead(int status, const net::Headers& headers) {
  last_contact = loop.Now();
  http_status = status;
  retry_after = RetryAfter(headers);
  if (state == State::kListing && status == 200 && resume.empty()) sink.OnInit();
  if (state == State::kWatching && status == 200) sink.OnWell();
}

void Watcher::Impl::OnData(std::string_view bytes) {
  last_contact = loop.Now();
  if (http_status != 200) {
    refusal += bytes.substr(0, kRefusalBytesMax - refusal.size());
    return;
  }
  if (state == State::kWatching) return OnEventBytes(bytes);
  timer = loop.After(kListStallMax, [this] { OnLost(DeadlineExceeded("no bytes for 60 s")); });
  if (const Status status = splitter->Write(bytes); !status.ok()) OnLost(status);
}

void Watcher::Impl::OnEnd(const Status& status, const net::Headers&) {
  if (!status.ok()) return OnLost(status);
  last_contact = loop.Now();
  if (http_status != 200) return OnRefused();
  state == State::kListing ? OnPageEnd() : OnWatchEnd();
}

void Watcher::Impl::OnEventBytes(std::string_view bytes) {
  if (const Status status = decoder->Write(bytes); !status.ok()) return OnLost(status);
  // An event may end this watch, and its decoder with it.
  while (decoder) {
    StatusOr<std::optional<WatchEvent>> event = decoder->Next();
    if (!event.ok()) return OnLost(event.status());
    if (!*event) return;
    OnEvent(**event);
  }
}

void Watcher::Impl::OnEvent(const WatchEvent& event) {
  if (event.type == WatchEvent::Type::kError) return OnErrorEvent(StatusOfObject(event.object));
  const std::string& seen = event.object["metadata"]["resourceVersion"].AsString();
  if (seen.empty()) return OnLost(DataLoss("the server sent an event without a resourceVersion"));
  version = seen;
  progress = true;
  refused_watches = 0;
  backoff.Reset();
  refusals.Reset();
  switch (event.type) {
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified:
      return sink.OnApplied(event.object);
    case WatchEvent::Type::kDeleted:
      return sink.OnDeleted(event.object);
    case WatchEvent::Type::kBookmark:
      return;
    case WatchEvent::Type::kError:
      GALEN_UNREACHABLE();
  }
}

void Watcher::Impl::OnPageEnd() {
  const StatusOr<ListHead> head = splitter->Finish();
  if (!head.ok()) return OnLost(head.status());
  if (head->resource_version.empty())
    return OnLost(DataLoss("the server sent a list without a resourceVersion"));
  if (!head->resume.empty() && head->resume == resume) {
    Report(DataLoss("the server gives the same page again and again"));
    resume.clear();
    return BackOff(State::kListing);
  }
  version = head->resource_version;
  resume = head->resume;
  if (!resume.empty()) return AskPage();
  refused_watches = 0;
  refusals.Reset();
  sink.OnInitDone();
  AskWatch();
}

// The server ends every watch some time; that is no trouble.
void Watcher::Impl::OnWatchEnd() {
  if (const Status status = decoder->Finish(); !status.ok()) return OnLost(status);
  const bool lasted = loop.Now() - asked_at >= kShortWatch;
  if (lasted) backoff.Reset();
  const bool at_once = std::exchange(progress, lasted) || lasted;
  at_once ? AskWatch() : BackOff(State::kWatching);
}

void Watcher::Impl::OnRefused() {
  const Status status = StatusOfResponse(http_status, refusal);
  if (status.code() == Code::kOutOfRange) return OnExpired(status);
  Report(status);
  const bool too_often = state == State::kWatching && ++refused_watches >= kRefusedWatchesMax;
  const bool no_such_version =
      state == State::kWatching &&
      (status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound);
  const State next = too_often || no_such_version ? State::kListing : state;
  if (!IsRetryable(status) && !no_such_version) return WaitFor(next, refusals.Next(random));
  BackOff(next, retry_after);
}

// 410: what we know is too old to go on from. Everyday business once; when it comes at once again,
// the server is in trouble and asking it for whole lists all the time would not help.
void Watcher::Impl::OnExpired(const Status& status) {
  if (std::exchange(progress, false)) return ListAfresh();
  Report(status);
  resume.clear();
  BackOff(State::kListing);
}

void Watcher::Impl::OnErrorEvent(const Status& status) {
  if (status.code() == Code::kOutOfRange) return OnExpired(status);
  Report(status);
  const bool too_often = ++refused_watches >= kRefusedWatchesMax;
  BackOff(too_often ? State::kListing : State::kWatching);
}

// The connection was lost, or sent what cannot be read: go on where we were. A page of which only a
// part came is requested again; items that came twice replace themselves.
void Watcher::Impl::OnLost(const Status& status) {
  Report(status);
  const bool broken = status.code() == Code::kDataLoss || status.code() == Code::kResourceExhausted;
  const bool too_often =
      broken && state == State::kWatching && ++refused_watches >= kRefusedWatchesMax;
  BackOff(too_often ? State::kListing : state);
}

void Watcher::Impl::Report(const Status& status) {
  sink.OnTrouble(Annotate(status, "{} {}", state == State::kListing ? "list" : "watch",
                          options.resource.plural));
}

Watcher::Watcher(Loop& loop, Client& client, Random& random, Options options, WatchSink& sink)
    : impl_(std::make_unique<Impl>(loop, client, random, std::move(options), sink)) {}

Watcher::~Watcher() = default;

void Watcher::Start() {
  GALEN_CHECK(impl_->state == Impl::State::kEmpty);
  impl_->ListAfresh();
}

std::optional<Time> Watcher::last_contact() const { return impl_->last_contact; }

}  // namespace galen::kube
