// An ApiServer on a FakeLoop with a client that waits for its answers; for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api_sim/serving/api_server.h"
#include "api_sim/serving/local_transport.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"

namespace galen::api_sim {

// What one request got, so far or in the end. Its queries may be asked at any time.
class Exchanged final : public net::HttpResponseSink {
 public:
  void OnHead(int status, const net::Headers& headers) override;
  void OnData(std::string_view bytes) override { text_ += bytes; }
  void OnEnd(const Status& status, const net::Headers& trailers) override;

  // The HTTP status; 0 before the head came.
  int code() const { return code_; }
  // The answer is whole; a watch's is not until it ends.
  bool ended() const { return ended_; }
  const net::Headers& headers() const { return headers_; }
  const std::string& text() const { return text_; }
  // The body as JSON; null while it does not parse.
  Json body() const;
  // Whole lines that came since the last call: the events of a watch.
  std::vector<Json> TakeEvents();

 private:
  int code_ = 0;
  bool ended_ = false;
  net::Headers headers_;
  std::string text_;
  std::size_t taken_ = 0;
};

// One request under way. Dropping it cancels the request; `call` dies before `got`.
struct Sent {
  std::unique_ptr<Exchanged> got = std::make_unique<Exchanged>();
  std::unique_ptr<net::HttpCall> call;
};

// The server, its loop with fake time and a client, made together and dying together. Crashes the
// test when the server cannot be made.
class FakeApiClient {
 public:
  explicit FakeApiClient(ApiServer::Options options = {});

  // Sends a request and lets the loop run until nothing is due; time does not move. A null `body`
  // sends none. Keep the result of a watch for as long as it is to go on.
  Sent Send(std::string method, std::string path, const Json& body = {},
            std::string content_type = "application/json", std::string accept = "");
  // The same when only the answer's body counts, or its code.
  Json Body(std::string method, std::string path, const Json& body = {},
            std::string content_type = "application/json");
  int Code(std::string method, std::string path, const Json& body = {},
           std::string content_type = "application/json");

  // Headers of all later requests, such as Authorization. Ends calls that are under way.
  void SetHeaders(net::Headers headers);

  FakeLoop& loop() { return loop_; }
  ApiServer& server() { return *server_; }
  net::HttpClient& transport() { return *transport_; }
  Random& random() { return random_; }

 private:
  FakeLoop loop_;
  Random random_{1};
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<LocalTransport> transport_;
};

// Text to Json; for literals in tests. REQUIRES: it parses.
Json ToJson(std::string_view text);

}  // namespace galen::api_sim
