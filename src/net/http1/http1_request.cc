#include "net/http1/http1_request.h"

#include <fmt/format.h>
#include <http_parser.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace galen::net {
namespace {

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

struct Http1RequestReader::Impl {
  explicit Impl(Limits limits_in) : limits(limits_in) {
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = this;
  }

  static Impl& Self(http_parser* parser) { return *static_cast<Impl*>(parser->data); }

  // Stops the parser: its callers say how far it came.
  int Refuse(int status, std::string text) {
    state = State::kRefused;
    refusal_status = status;
    refusal = std::move(text);
    return -1;  // 1 would mean something else to OnHeadersComplete
  }

  int CountHead(std::size_t size) {
    head_bytes += size;
    if (head_bytes <= limits.head_bytes_max) return 0;
    return Refuse(431, fmt::format("the headers exceed {} bytes", limits.head_bytes_max));
  }

  static int OnUrl(http_parser* parser, const char* data, std::size_t size) {
    Self(parser).request.path.append(data, size);
    return Self(parser).CountHead(size);
  }

  // A name or a value may come in pieces.
  static int OnField(http_parser* parser, const char* data, std::size_t size) {
    Impl& self = Self(parser);
    const bool begins = std::exchange(self.in_value, false) || self.request.headers.empty();
    if (begins) self.request.headers.emplace_back();
    std::string& name = self.request.headers.back().name;
    std::transform(data, data + size, std::back_inserter(name), Lower);
    return self.CountHead(size + (begins ? kFieldBytes : 0));
  }

  static int OnValue(http_parser* parser, const char* data, std::size_t size) {
    Impl& self = Self(parser);
    self.in_value = true;
    self.request.headers.back().value.append(data, size);
    return self.CountHead(size);
  }

  static int OnHeadersComplete(http_parser* parser) {
    Impl& self = Self(parser);
    parser->upgrade = 0;  // we stay with HTTP/1.1, whatever the client offers
    self.request.method = http_method_str(static_cast<http_method>(parser->method));
    // Trailers come by the same callbacks as headers; this is where they begin.
    self.head_size = self.request.headers.size();
    for (Header& header : self.request.headers) {
      // RFC 9112, section 5.1: white space around a value is not a part of it; the parser keeps it
      // at the end.
      header.value.erase(header.value.find_last_not_of(" \t") + 1);
    }
    const bool sized = parser->content_length != ULLONG_MAX;
    // Before the body comes: a client that waits for "100 Continue" never sends it.
    if (sized && parser->content_length > self.limits.body_bytes_max) return self.RefuseBody();
    const auto expectation = FindHeader(self.request.headers, "expect");
    self.expects_continue = expectation && *expectation == "100-continue";
    return 0;
  }

  int RefuseBody() {
    return Refuse(413, fmt::format("the request exceeds {} bytes", limits.body_bytes_max));
  }

  static int OnBody(http_parser* parser, const char* data, std::size_t size) {
    Impl& self = Self(parser);
    // A chunked body says its size only as it comes.
    if (self.request.body.size() + size > self.limits.body_bytes_max) return self.RefuseBody();
    self.request.body.append(data, size);
    return 0;
  }

  static int OnComplete(http_parser* parser) {
    Impl& self = Self(parser);
    self.request.headers.resize(self.head_size);  // trailers are dropped
    self.keep_alive = http_should_keep_alive(parser) != 0;
    self.state = State::kComplete;
    // Stops behind this request; the bytes of the next are left to its own reader.
    http_parser_pause(parser, 1);
    return 0;
  }

  static const http_parser_settings& Settings() {
    static const http_parser_settings settings = [] {
      http_parser_settings out;
      http_parser_settings_init(&out);
      out.on_url = OnUrl;
      out.on_header_field = OnField;
      out.on_header_value = OnValue;
      out.on_headers_complete = OnHeadersComplete;
      out.on_body = OnBody;
      out.on_message_complete = OnComplete;
      return out;
    }();
    return settings;
  }

  const Limits limits;
  http_parser parser{};
  State state = State::kReading;
  HttpRequest request;
  bool started = false;
  bool in_value = false;
  bool keep_alive = false;
  bool expects_continue = false;
  std::size_t head_bytes = 0;
  std::size_t head_size = 0;  // how many headers came before the body
  int refusal_status = 0;
  std::string refusal;
};

Http1RequestReader::Http1RequestReader(Limits limits) : impl_(std::make_unique<Impl>(limits)) {}
Http1RequestReader::~Http1RequestReader() = default;

std::size_t Http1RequestReader::Read(std::string_view bytes) {
  if (bytes.empty() || impl_->state != State::kReading) return 0;
  impl_->started = true;
  const std::size_t taken =
      http_parser_execute(&impl_->parser, &Impl::Settings(), bytes.data(), bytes.size());
  // A refusal of ours stops the parser with an error as well, and already has its own message.
  const http_errno error = HTTP_PARSER_ERRNO(&impl_->parser);
  if (impl_->state == State::kReading && error != HPE_OK) {
    impl_->Refuse(error == HPE_HEADER_OVERFLOW ? 431 : 400,
                  fmt::format("this is not HTTP/1.1: {}", http_errno_description(error)));
  }
  return taken;
}

Http1RequestReader::State Http1RequestReader::state() const { return impl_->state; }
bool Http1RequestReader::started() const { return impl_->started; }
bool Http1RequestReader::TakeExpectation() {
  return std::exchange(impl_->expects_continue, false) && impl_->state == State::kReading;
}
HttpRequest Http1RequestReader::TakeRequest() { return std::move(impl_->request); }
bool Http1RequestReader::keep_alive() const { return impl_->keep_alive; }
bool Http1RequestReader::is_http_1_0() const {
  return impl_->parser.http_major == 1 && impl_->parser.http_minor == 0;
}
int Http1RequestReader::refusal_status() const { return impl_->refusal_status; }
const std::string& Http1RequestReader::refusal() const { return impl_->refusal; }

std::string_view ReasonPhrase(int status) {
  return http_status_str(static_cast<http_status>(status));
}

}  // namespace galen::net
