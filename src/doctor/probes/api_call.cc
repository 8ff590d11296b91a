// Tested by api_probe_test.cc.
#include "doctor/probes/api_call.h"

#include <utility>

#include "kube/client.h"

namespace galen::doctor {

ApiCall::ApiCall(Loop& loop, net::HttpClient& client, std::string path, Kind kind,
                 std::function<void(PlainAnswer)> done)
    : loop_(loop), kind_(kind), done_(std::move(done)) {
  answer_.asked = loop.WallNow();
  call_ = client.Send({.path = std::move(path)}, *this);
  deadline_ = loop.After(kWithin, [this] { Finish(DeadlineExceeded("no answer in 20 s")); });
}

void ApiCall::OnHead(int status, const net::Headers& headers) {
  http_status_ = status;
  answer_.answered = loop_.WallNow();
  if (const auto date = net::FindHeader(headers, "date")) answer_.date = *date;
}

void ApiCall::OnData(std::string_view bytes) {
  bytes_ += bytes.size();
  const bool metrics = kind_ == Kind::kMetrics && http_status_ == 200;
  if (bytes_ > (metrics ? kMetricsBytesMax : kTextBytesMax)) {
    return Finish(ResourceExhausted("the answer is too large"));
  }
  if (metrics) {
    collector_.Take(bytes);
  } else {
    answer_.body += bytes;
  }
}

void ApiCall::OnEnd(const Status& status, const net::Headers&) {
  if (!status.ok()) return Finish(status);
  if (http_status_ != 200) return Finish(kube::StatusOfResponse(http_status_, answer_.body));
  Finish(OkStatus());
}

void ApiCall::Finish(Status status) {
  if (!done_) return;
  call_.reset();
  deadline_.Cancel();
  collector_.End();
  answer_.samples = collector_.samples();
  answer_.status = std::move(status);
  std::exchange(done_, nullptr)(std::move(answer_));
}

}  // namespace galen::doctor
