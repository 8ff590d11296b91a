#include "api_sim/objects/api_request.h"

#include <vector>

#include "base/data/percent.h"

namespace galen::api_sim {
namespace {

// The parts of a path between slashes, decoded one by one so that "%2F" stays inside its part.
// Empty parts are skipped: "/api//v1/" is "/api/v1".
std::vector<std::string> Segments(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (!segment.empty()) segments.push_back(PercentDecode(segment));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return segments;
}

void ReadQuery(std::string_view text, ApiRequest& request) {
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = pair.find('=');
    std::string value;
    if (equals != std::string_view::npos)
      value = PercentDecode(pair.substr(equals + 1), Plus::kIsSpace);
    if (!pair.empty()) request.query[PercentDecode(pair.substr(0, equals), Plus::kIsSpace)] = value;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

// "/namespaces/NAME" and its own subresources are about the namespace, not within it.
bool IsNamespaceItself(const std::vector<std::string>& rest) {
  return rest.size() <= 2 || (rest.size() == 3 && (rest[2] == "status" || rest[2] == "finalize"));
}

void ReadResource(std::vector<std::string> segments, ApiRequest& request) {
  // "/api/VERSION/…" is the core group, which has no name; all others are "/apis/GROUP/VERSION/…".
  // A path that ends at the version asks for discovery and names no resource.
  const bool core = !segments.empty() && segments[0] == "api";
  const std::size_t head = core ? 2 : 3;
  if (segments.empty() || (!core && segments[0] != "apis") || segments.size() <= head) return;
  request.is_resource = true;
  if (!core) request.group = segments[1];
  request.version = segments[head - 1];
  std::vector<std::string> rest(segments.begin() + static_cast<std::ptrdiff_t>(head),
                                segments.end());
  if (rest[0] == "namespaces" && !IsNamespaceItself(rest)) {
    request.ns = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  request.plural = rest[0];
  if (rest.size() > 1) request.name = rest[1];
  if (rest.size() > 2) request.subresource = rest[2];
  // Nothing is served below a subresource; leaving the fields set is harmless once this is false.
  if (rest.size() > 3) request.is_resource = false;
}

std::string HeaderOr(const net::Headers& headers, std::string_view name) {
  return std::string(net::FindHeader(headers, name).value_or(""));
}

}  // namespace

const std::string& ApiRequest::Param(std::string_view parameter) const {
  static const std::string kNone;
  const auto it = query.find(parameter);
  return it == query.end() ? kNone : it->second;
}

bool ApiRequest::Flag(std::string_view parameter) const {
  const std::string& value = Param(parameter);
  return value == "true" || value == "1";
}

std::string ApiRequest::manager() const {
  const std::string& named = Param("fieldManager");
  if (!named.empty()) return named;
  // client-go does the same for writers without a field manager.
  const std::string first = user_agent.substr(0, user_agent.find_first_of("/ "));
  return first.empty() ? "unknown" : first;
}

ApiRequest ReadApiRequest(const net::HttpRequest& http) {
  ApiRequest request;
  request.method = http.method;
  const std::string_view whole = http.path;
  const std::size_t question = whole.find('?');
  request.path = std::string(whole.substr(0, question));
  if (question != std::string_view::npos) ReadQuery(whole.substr(question + 1), request);
  request.body = http.body;
  const std::string content_type = HeaderOr(http.headers, "content-type");
  // "application/json; charset=utf-8" is JSON; no parameter changes how a body is read here.
  request.content_type = content_type.substr(0, content_type.find(';'));
  request.accept = HeaderOr(http.headers, "accept");
  request.user_agent = HeaderOr(http.headers, "user-agent");
  ReadResource(Segments(request.path), request);
  return request;
}

}  // namespace galen::api_sim
