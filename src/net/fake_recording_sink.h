// Remembers an answer, for tests: head, body and end, and how often it was ended. Outlives its
// call.
#pragma once

#include <optional>
#include <string>

#include "net/http.h"

namespace galen::net {

class RecordingSink final : public HttpResponseSink {
 public:
  void OnHead(int status, const Headers& headers) override {
    status_ = status;
    headers_ = headers;
  }
  void OnData(std::string_view bytes) override { body_.append(bytes); }
  void OnEnd(const Status& status, const Headers& trailers) override {
    ++ends_;
    end_ = status;
    trailers_ = trailers;
  }

  // 0 before the head has come.
  int status() const { return status_; }
  const Headers& headers() const { return headers_; }
  const std::string& body() const { return body_; }
  bool ended() const { return end_.has_value(); }
  int ends() const { return ends_; }
  // REQUIRES: ended().
  const Status& end() const { return *end_; }
  const Headers& trailers() const { return trailers_; }

 private:
  int status_ = 0;
  Headers headers_;
  std::string body_;
  int ends_ = 0;
  std::optional<Status> end_;
  Headers trailers_;
};

}  // namespace galen::net
