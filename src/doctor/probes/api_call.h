// One GET whose answer is read as it comes: headers, and metrics of which a few lines are wanted.
// Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "doctor/probes/metrics_text.h"
#include "net/http.h"

namespace galen::doctor {

// What came of it.
struct PlainAnswer {
  Status status;  // OK for 200; else what the server or the way there said
  std::string date;
  std::string body;             // of text; "" of metrics
  std::vector<Sample> samples;  // of metrics
  WallTime asked{}, answered{};
};

// Asks when it is made. Destroying it cancels.
class ApiCall final : private net::HttpResponseSink {
 public:
  enum class Kind { kText, kMetrics };
  // `done` runs once, later; the call is kept until then and not destroyed by it. loop and client
  // are lent.
  ApiCall(Loop& loop, net::HttpClient& client, std::string path, Kind kind,
          std::function<void(PlainAnswer)> done);

  static constexpr Duration kWithin = std::chrono::seconds(20);
  static constexpr std::size_t kTextBytesMax = 1024 * 1024;
  // An API server of a large cluster shows some tens of megabytes.
  static constexpr std::size_t kMetricsBytesMax = std::size_t{256} << 20;

 private:
  void OnHead(int status, const net::Headers& headers) override;
  void OnData(std::string_view bytes) override;
  void OnEnd(const Status& status, const net::Headers& trailers) override;
  void Finish(Status status);

  Loop& loop_;
  const Kind kind_;
  std::function<void(PlainAnswer)> done_;
  PlainAnswer answer_;
  SampleCollector collector_;
  int http_status_ = 0;
  std::size_t bytes_ = 0;
  std::unique_ptr<net::HttpCall> call_;
  Timer deadline_;
};

}  // namespace galen::doctor
