#include "kube/fake_transport.h"

#include <utility>

#include "base/check.h"

namespace galen::kube {

// Marks its exchange as closed when it dies.
class FakeTransport::Call final : public net::HttpCall {
 public:
  Call(FakeTransport& transport, std::size_t number) : transport_(transport), number_(number) {}
  ~Call() override { transport_.exchanges_[number_] = {}; }

 private:
  FakeTransport& transport_;
  const std::size_t number_;
};

std::unique_ptr<net::HttpCall> FakeTransport::Send(net::HttpRequest request,
                                                   net::HttpResponseSink& sink) {
  const std::size_t number = requests_.size();
  exchanges_.push_back({&sink, {}});
  std::optional<Answer> answer;
  if (!script_.empty()) {
    answer = std::move(script_.front());
    script_.pop_front();
  } else if (responder_) {
    answer = responder_(request);
  }
  requests_.push_back(std::move(request));
  // The timer lives in the exchange, so a call that is cancelled takes its answer with it.
  if (answer) {
    exchanges_[number].answer = loop_.After(
        Duration::zero(), [this, number, answer = std::move(*answer)] { Play(number, answer); });
  }
  return std::make_unique<Call>(*this, number);
}

void FakeTransport::Play(std::size_t number, const Answer& answer) {
  const Answer copy = answer;  // what we call may cancel, and so destroy, the task that holds it
  if (copy.status != 0) Head(number, copy.status, copy.headers);
  if (open(number) && !copy.body.empty()) Data(number, copy.body);
  if (open(number)) End(number, copy.end);
}

std::string FakeTransport::last() const {
  if (requests_.empty()) return "";
  return requests_.back().method + " " + requests_.back().path;
}

void FakeTransport::Head(std::size_t number, int status, const net::Headers& headers) {
  GALEN_CHECK(open(number));
  exchanges_[number].sink->OnHead(status, headers);
}

void FakeTransport::Data(std::size_t number, std::string_view bytes) {
  GALEN_CHECK(open(number));
  exchanges_[number].sink->OnData(bytes);
}

void FakeTransport::End(std::size_t number, const Status& status) {
  GALEN_CHECK(open(number));
  std::exchange(exchanges_[number].sink, nullptr)->OnEnd(status, {});
}

}  // namespace galen::kube
