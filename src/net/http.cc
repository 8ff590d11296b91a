#include "net/http.h"

#include <utility>

namespace galen::net {

std::optional<std::string_view> FindHeader(const Headers& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (header.name == name) return header.value;
  }
  return std::nullopt;
}

void Respond(HttpExchange& exchange, int status, std::string_view content_type, std::string body) {
  exchange.Head(status, {{"content-type", std::string(content_type)},
                         {"content-length", std::to_string(body.size())}});
  if (!body.empty()) exchange.Write(std::move(body));
  exchange.End();
}

}  // namespace galen::net
