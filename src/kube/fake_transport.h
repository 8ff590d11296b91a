// An HttpClient whose answers a test writes: in advance, by a function of the request, or by hand
// while a request is open. For unit tests of whatever talks to the API; no sockets. One loop.
// Outlives its calls.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "net/http.h"

namespace galen::kube {

class FakeTransport final : public net::HttpClient {
 public:
  // A whole answer. With an `end` that is not OK the answer breaks off after its body; with
  // status 0 it fails before its head.
  struct Answer {
    int status = 200;
    std::string body = {};
    net::Headers headers = {};
    Status end = {};
  };

  explicit FakeTransport(Loop& loop) : loop_(loop) {}

  // The answers to the next requests, first come first served.
  void AnswerNext(Answer answer) { script_.push_back(std::move(answer)); }
  // Asked when no answer waits; nullopt leaves the request open, to be answered by hand.
  using Responder = std::function<std::optional<Answer>(const net::HttpRequest& request)>;
  void AnswerBy(Responder responder) { responder_ = std::move(responder); }

  // Answers later, as HttpClient promises, also what was written in advance.
  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override;

  // Everything that was asked, in order; a request's place in it is its number below.
  const std::vector<net::HttpRequest>& requests() const { return requests_; }
  // "GET /api/v1/pods?limit=500" of the latest request; "" when nothing was asked.
  std::string last() const;
  // Neither ended nor cancelled.
  bool open(std::size_t number) const { return exchanges_.at(number).sink != nullptr; }

  // By hand, at once. REQUIRES: that request is open.
  void Head(std::size_t number, int status = 200, const net::Headers& headers = {});
  void Data(std::size_t number, std::string_view bytes);
  void End(std::size_t number, const Status& status = {});

 private:
  class Call;
  struct Exchange {
    net::HttpResponseSink* sink = nullptr;
    Timer answer;
  };

  void Play(std::size_t number, const Answer& answer);

  Loop& loop_;
  std::deque<Answer> script_;
  Responder responder_;
  std::vector<net::HttpRequest> requests_;
  std::vector<Exchange> exchanges_;
};

}  // namespace galen::kube
