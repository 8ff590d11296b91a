#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "net/http1/http1_request.h"
#include "net/http1/http1_server.h"

namespace galen::net {
namespace {

// A line break inside a value would start a header of the value's making.
std::string Line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return text;
}

std::string HeaderLine(const Header& header) {
  return fmt::format("{}: {}\r\n", header.name, Line(header.value));
}

std::optional<std::size_t> ContentLength(const Headers& headers) {
  const auto text = FindHeader(headers, "content-length");
  if (!text) return std::nullopt;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  GALEN_CHECK(error == std::errc{} && end == text->data() + text->size());
  return length;
}

}  // namespace

std::string Http1AnswerWriter::Head(int status, const Headers& headers) {
  GALEN_CHECK(!has_head_);
  has_head_ = true;
  const auto length = ContentLength(headers);
  // No body by definition; a client would take one for the next answer.
  if (options_.head_only || status == 204 || status == 304) {
    framing_ = Framing::kNone;
  } else if (length) {
    framing_ = Framing::kLength;
    left_ = *length;
  } else {
    framing_ = options_.is_http_1_0 ? Framing::kUntilClose : Framing::kChunks;
  }
  const auto connection = FindHeader(headers, "connection");
  if (framing_ == Framing::kUntilClose || connection == "close") options_.keep_alive = false;
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", status, ReasonPhrase(status));
  for (const Header& header : headers) {
    // Written below, once: we may have reasons of our own to close.
    if (header.name != "connection") out += HeaderLine(header);
  }
  if (framing_ == Framing::kChunks) out += "transfer-encoding: chunked\r\n";
  if (!options_.keep_alive) out += "connection: close\r\n";
  // HTTP/1.0 closes and 1.1 keeps the connection, unless a header says otherwise.
  if (options_.keep_alive && options_.is_http_1_0) out += "connection: keep-alive\r\n";
  return out + "\r\n";
}

std::string Http1AnswerWriter::Body(std::string_view bytes) {
  GALEN_CHECK(has_head_ && !ended_);
  switch (framing_) {
    case Framing::kNone:
      return "";
    case Framing::kLength:
      GALEN_CHECK(bytes.size() <= left_);
      left_ -= bytes.size();
      return std::string(bytes);
    case Framing::kChunks:  // an empty chunk would be the end
      return bytes.empty() ? "" : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
    case Framing::kUntilClose:
      return std::string(bytes);
  }
  GALEN_UNREACHABLE();
}

std::string Http1AnswerWriter::End(const Headers& trailers) {
  GALEN_CHECK(has_head_ && !ended_);
  ended_ = true;
  // A client that was promised more must not take the next answer for the rest.
  if (left_ > 0) options_.keep_alive = false;
  if (framing_ != Framing::kChunks) return "";
  std::string out = "0\r\n";
  for (const Header& trailer : trailers) out += HeaderLine(trailer);
  return out + "\r\n";
}

}  // namespace galen::net
