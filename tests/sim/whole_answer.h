// A whole answer of an HTTP handler that answers at once, as a value: for whoever stands between a
// client and the embedded API.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace galen::sim {

struct WholeAnswer {
  int status = 0;  // 0: the handler gave it up
  net::Headers headers;
  std::string body;
};

// REQUIRES: the handler answers before it returns, as the embedded API does all but watches.
WholeAnswer AskAtOnce(net::HttpHandler& handler, net::HttpRequest request);
// Gives it to the client; one that was given up resets the stream.
void Send(std::unique_ptr<net::HttpExchange> exchange, const WholeAnswer& answer);
// A metav1.Status as Kubernetes refuses with. 429 and 503 ask to come again in a second.
WholeAnswer RefusalAnswer(int code);
// metadata.resourceVersion of an object as the embedded API writes it; "" when it has none.
std::string_view VersionIn(std::string_view object);

}  // namespace galen::sim
