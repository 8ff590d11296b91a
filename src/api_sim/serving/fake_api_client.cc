#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {

void Exchanged::OnHead(int status, const net::Headers& headers) {
  code_ = status;
  headers_ = headers;
}

void Exchanged::OnEnd(const Status&, const net::Headers&) { ended_ = true; }

Json Exchanged::body() const {
  StatusOr<Json> body = Json::Parse(text_);
  return body.ok() ? *std::move(body) : Json();
}

std::vector<Json> Exchanged::TakeEvents() {
  std::vector<Json> events;
  while (true) {
    const std::size_t end = text_.find('\n', taken_);
    if (end == std::string::npos) return events;
    events.push_back(ToJson(std::string_view(text_).substr(taken_, end - taken_)));
    taken_ = end + 1;
  }
}

FakeApiClient::FakeApiClient(ApiServer::Options options) {
  auto server = ApiServer::Create(loop_, random_, NullLog(), std::move(options));
  GALEN_CHECK(server.ok());
  server_ = std::move(server).value();
  SetHeaders({});
}

void FakeApiClient::SetHeaders(net::Headers headers) {
  transport_ = std::make_unique<LocalTransport>(loop_, *server_, std::move(headers));
}

Sent FakeApiClient::Send(std::string method, std::string path, const Json& body,
                         std::string content_type, std::string accept) {
  net::HttpRequest request{.method = std::move(method),
                           .path = std::move(path),
                           .headers = {},
                           .body = body.is_null() ? "" : body.Dump()};
  request.headers.push_back({"content-type", std::move(content_type)});
  if (!accept.empty()) request.headers.push_back({"accept", std::move(accept)});
  Sent sent;
  sent.call = transport_->Send(std::move(request), *sent.got);
  // Answers come by turns of the loop, none of which waits for time.
  loop_.RunUntilIdle();
  return sent;
}

Json FakeApiClient::Body(std::string method, std::string path, const Json& body,
                         std::string content_type) {
  return Send(std::move(method), std::move(path), body, std::move(content_type)).got->body();
}

int FakeApiClient::Code(std::string method, std::string path, const Json& body,
                        std::string content_type) {
  return Send(std::move(method), std::move(path), body, std::move(content_type)).got->code();
}

Json ToJson(std::string_view text) {
  StatusOr<Json> value = Json::Parse(text);
  GALEN_CHECK(value.ok());
  return *std::move(value);
}

}  // namespace galen::api_sim
