#include "tests/contract/api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

#include "api_sim/serving/api_server.h"
#include "api_sim/serving/local_transport.h"
#include "base/random.h"
#include "net/connection.h"

namespace galen::contract {
namespace {

// For a loaded machine and a real cluster; what takes longer does not come.
constexpr Duration kPatience = std::chrono::seconds(20);
// How often what is waited for is asked for again; short, since most of it comes at once.
constexpr Duration kAskAgain = std::chrono::milliseconds(20);

// Gathers an answer as it comes; each piece stops the loop, so that whoever waits looks again.
class Collector final : public net::HttpResponseSink {
 public:
  explicit Collector(EpollLoop& loop) : loop_(loop) {}
  void OnHead(int status, const net::Headers& headers) override {
    reply.code = status;
    reply.headers = headers;
    loop_.Stop();
  }
  void OnData(std::string_view bytes) override {
    reply.text += bytes;
    loop_.Stop();
  }
  void OnEnd(const Status& status, const net::Headers&) override {
    end = status;
    loop_.Stop();
  }

  Reply reply;
  std::optional<Status> end;

 private:
  EpollLoop& loop_;
};

// What both APIs have in common: a client on a loop that runs while somebody waits.
class LoopApi : public Api {
 public:
  LoopApi(std::unique_ptr<EpollLoop> loop, std::string token)
      : loop_(std::move(loop)), token_(std::move(token)) {}

  Reply Send(std::string method, std::string path, const Json& body, std::string content_type,
             net::Headers headers) override {
    net::HttpRequest request{.method = std::move(method),
                             .path = std::move(path),
                             .headers = {},
                             .body = body.is_null() ? "" : body.Dump()};
    request.headers = std::move(headers);
    if (!body.is_null()) request.headers.push_back({"content-type", std::move(content_type)});
    Collector collector(*loop_);
    const auto call = Start(std::move(request), collector);
    WaitUntil([&] { return collector.end.has_value(); }, kPatience);
    // An answer that breaks off is a failure of the test, whatever it began with.
    EXPECT_TRUE(collector.end && collector.end->ok()) << "no whole answer";
    StatusOr<Json> parsed = Json::Parse(collector.reply.text);
    if (parsed.ok()) collector.reply.body = *std::move(parsed);
    return std::move(collector.reply);
  }

  std::unique_ptr<Watch> StartWatch(std::string path, net::Headers headers) override;

  bool WaitUntil(const std::function<bool()>& done, Duration patience) override {
    bool late = false;
    const Timer timer = loop_->After(patience, [&] {
      late = true;
      loop_->Stop();
    });
    while (!done() && !late) {
      // What `done` asks the API for changes there, and nothing arrives here to say so.
      const Timer again = loop_->After(kAskAgain, [this] { loop_->Stop(); });
      loop_->Run();
    }
    return done();
  }

  std::unique_ptr<net::HttpCall> Start(net::HttpRequest request, net::HttpResponseSink& sink) {
    if (!token_.empty()) request.headers.push_back({"authorization", "Bearer " + token_});
    return client().Send(std::move(request), sink);
  }
  EpollLoop& loop() { return *loop_; }

 protected:
  virtual net::HttpClient& client() = 0;

 private:
  std::unique_ptr<EpollLoop> loop_;
  const std::string token_;
};

class LoopWatch final : public Watch {
 public:
  LoopWatch(LoopApi& api, net::HttpRequest request)
      : api_(api), collector_(api.loop()), call_(api.Start(std::move(request), collector_)) {
    api_.WaitUntil([this] { return code() != 0 || ended(); }, kPatience);
  }

  std::optional<Json> Next(Duration patience) override {
    // Events are lines; one may arrive in pieces.
    const auto has_line = [this] {
      return collector_.reply.text.find('\n', taken_) != std::string::npos;
    };
    api_.WaitUntil([&] { return has_line() || ended(); }, patience);
    if (!has_line()) return std::nullopt;
    const std::size_t end = collector_.reply.text.find('\n', taken_);
    Json event = ToJson(std::string_view(collector_.reply.text).substr(taken_, end - taken_));
    taken_ = end + 1;
    return event;
  }
  bool ended() const override { return collector_.end.has_value(); }
  int code() const override { return collector_.reply.code; }

 private:
  LoopApi& api_;
  Collector collector_;
  std::unique_ptr<net::HttpCall> call_;
  std::size_t taken_ = 0;
};

std::unique_ptr<Watch> LoopApi::StartWatch(std::string path, net::Headers headers) {
  return std::make_unique<LoopWatch>(
      *this,
      net::HttpRequest{
          .method = "GET", .path = std::move(path), .headers = std::move(headers), .body = {}});
}

// The API in this process, without a socket: fast, and the one that every run tests.
class EmbeddedApi final : public LoopApi {
 public:
  explicit EmbeddedApi(std::unique_ptr<EpollLoop> loop) : LoopApi(std::move(loop), "") {
    auto server = api_sim::ApiServer::Create(this->loop(), random_, NullLog(), {});
    GALEN_CHECK(server.ok());
    server_ = std::move(server).value();
    transport_ = std::make_unique<api_sim::LocalTransport>(this->loop(), *server_);
  }

 private:
  net::HttpClient& client() override { return *transport_; }

  Random random_{Random::Seed()};
  std::unique_ptr<api_sim::ApiServer> server_;
  std::unique_ptr<api_sim::LocalTransport> transport_;
};

// An API server somewhere, to learn whether the suite itself is true.
class RealApi final : public LoopApi {
 public:
  RealApi(std::unique_ptr<EpollLoop> loop, const ApiAddress& address)
      : LoopApi(std::move(loop), address.token), dialer_(net::MakeDialer(this->loop())) {
    const std::string place = address.server.substr(address.server.find("://") + 3);
    net::DialOptions options{.target = "tcp:" + place};
    options.authority = place;
    // The address must be among the names of the server's certificate.
    options.tls =
        net::TlsOptions{.server_name = place.substr(0, place.rfind(':')), .ca_pem = address.ca_pem};
    std::optional<StatusOr<std::unique_ptr<net::Connection>>> dialled;
    const auto dialling = dialer_->Dial(std::move(options), [&](auto connection) {
      dialled = std::move(connection);
      this->loop().Stop();
    });
    WaitUntil([&] { return dialled.has_value(); }, kPatience);
    GALEN_CHECK(dialled && dialled->ok());
    connection_ = std::move(*dialled).value();
  }

 private:
  net::HttpClient& client() override { return *connection_; }

  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<net::Connection> connection_;
};

// One for the process, since gtest makes the tests itself and hands them nothing.
std::unique_ptr<Api>& Slot() {
  static std::unique_ptr<Api> api;
  return api;
}

}  // namespace

Reply Api::Patch(std::string path, const char* type, std::string_view patch) {
  return Send("PATCH", std::move(path), ToJson(patch), type);
}

int Api::minor() {
  // "34+" where somebody builds their own.
  if (minor_ == 0) minor_ = std::atoi(Get("/version").body["minor"].AsString().c_str());
  return minor_;
}

bool IsBefore(int minor) {
  if (TheApi().minor() >= minor) return false;
  testing::Test::RecordProperty("since", fmt::format("1.{}", minor));
  return true;
}

void UseApi(const ApiAddress& address) {
  auto loop = EpollLoop::Create();
  GALEN_CHECK(loop.ok());
  if (address.server.empty()) {
    Slot() = std::make_unique<EmbeddedApi>(std::move(loop).value());
  } else {
    Slot() = std::make_unique<RealApi>(std::move(loop).value(), address);
  }
}

Api& TheApi() { return *Slot(); }

Namespace::Namespace() : name_(FreshName("contract")) {
  const Json created = Json::MakeObject({{"metadata", Json::MakeObject({{"name", name_}})}});
  EXPECT_EQ(TheApi().Post("/api/v1/namespaces", created).code, 201);
  // A real cluster's Pods want it, and its controller makes it a little later.
  TheApi().Post("/api/v1/namespaces/" + name_ + "/serviceaccounts",
                ToJson(R"({"metadata": {"name": "default"}})"));
}

Namespace::~Namespace() { TheApi().Delete("/api/v1/namespaces/" + name_); }

std::string Namespace::Claims() const {
  return "/apis/resource.k8s.io/v1/namespaces/" + name_ + "/resourceclaims";
}

std::string FreshName(std::string_view base) {
  static Random random(Random::Seed());
  return fmt::format("{}-{}", base, random.NameSuffix(8));
}

Json ToJson(std::string_view text) {
  StatusOr<Json> value = Json::Parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *std::move(value) : Json();
}

Json MakePod(std::string_view name) {
  Json pod = ToJson(R"({"apiVersion": "v1", "kind": "Pod", "spec": {
      "schedulerName": "nobody",
      "containers": [{"name": "main", "image": "localhost/none"}]}})");
  pod["metadata"]["name"] = name;
  return pod;
}

Json MakeConfigMap(std::string_view name, std::string_view value) {
  Json map = ToJson(R"({"apiVersion": "v1", "kind": "ConfigMap"})");
  map["metadata"]["name"] = name;
  map["data"]["key"] = value;
  return map;
}

}  // namespace galen::contract
