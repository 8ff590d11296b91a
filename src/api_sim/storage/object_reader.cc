// Tested by tests/contract/list_test.cc and tests/contract/watch_test.cc.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "api_sim/objects/object_meta.h"
#include "api_sim/storage/object_access.h"
#include "api_sim/storage/presentation.h"
#include "base/data/base64.h"

namespace galen::api_sim {
namespace {

Outcome<std::uint64_t> ReadNumber(const std::string& text, const char* what) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end)
    return BadRequest(fmt::format("{} is no number: \"{}\"", what, text));
  return value;
}

// The client read a version elsewhere that does not exist here yet; client-go recognises the cause
// and waits.
Refusal TooLargeVersion(std::uint64_t asked, std::uint64_t current) {
  Refusal refusal = PlainRefusal(
      504, "Timeout",
      fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current));
  refusal.details = Json::MakeObject(
      {{"causes", Json::MakeArray({Json::MakeObject({{"reason", "ResourceVersionTooLarge"},
                                                     {"message", "Too large resource version"}})})},
       {"retryAfterSeconds", 1}});
  return refusal;
}

// A page's token: the version of the whole list and the last object that was shown. Opaque to
// clients; it is no secret, since it gives no more access than a list.
std::string MakeToken(std::uint64_t version, const ObjectKey& last) {
  return EncodeBase64(
      Json::MakeObject(
          {{"v", "meta.k8s.io/v1"}, {"rv", version}, {"ns", last.ns}, {"name", last.name}})
          .Dump());
}

}  // namespace

// Which part of which list, from the query.
struct ObjectReader::Page {
  std::uint64_t version = 0;
  std::uint64_t limit = 0;         // 0: no limit
  std::optional<ObjectKey> after;  // the last object of earlier pages
  bool at_version = false;         // at `version`, not the present state
};

Outcome<Json> ObjectReader::Get(const ApiRequest& request, const Kind& kind) const {
  ASSIGN_OR_RETURN(const Presentation presentation, ReadPresentation(request));
  const Snapshot object = store_.Get(kind.collection(), {request.ns, request.name});
  if (object == nullptr) return NotFoundRefusal(kind.subject(request.name));
  return presentation.One(kind, *object, loop_.WallNow());
}

Outcome<Json> ObjectReader::List(const ApiRequest& request, const Kind& kind) const {
  ASSIGN_OR_RETURN(const Presentation presentation, ReadPresentation(request));
  ASSIGN_OR_RETURN(const Selection selection, ReadSelection(request, kind));
  ASSIGN_OR_RETURN(const Page page, ReadPage(request));
  std::optional<std::vector<Snapshot>> all = store_.List(kind.collection(), request.ns);
  // Reading the past means walking back through the history; only pages and exact versions do.
  if (page.at_version) all = store_.ListAt(kind.collection(), request.ns, page.version);
  if (!all) {
    return ExpiredRefusal(
        page.after ? "The provided continue parameter is too old to display a consistent list "
                     "result. You must start a new list without the continue parameter."
                   : fmt::format("The resourceVersion for the provided list is too old: {}",
                                 page.version));
  }
  std::vector<Snapshot> shown;
  // Counted over the rest, which costs a pass but shows clients their progress.
  std::int64_t remaining = 0;
  for (Snapshot& object : *all) {
    if (page.after && KeyOf(*object) <= *page.after) continue;
    if (!selection.Matches(*object)) continue;
    if (page.limit == 0 || shown.size() < page.limit) {
      shown.push_back(std::move(object));
    } else {
      ++remaining;
    }
  }
  Json meta = Json::MakeObject({{"resourceVersion", std::to_string(page.version)}});
  if (remaining > 0) {
    meta["continue"] = MakeToken(page.version, KeyOf(*shown.back()));
    // With a selector the real server does not know how many objects remain.
    if (selection.empty()) meta["remainingItemCount"] = remaining;
  }
  return presentation.Many(kind, shown, std::move(meta), loop_.WallNow());
}

Outcome<ObjectReader::Page> ObjectReader::ReadPage(const ApiRequest& request) const {
  Page page;
  page.version = store_.version();
  if (!request.Param("limit").empty()) {
    ASSIGN_OR_RETURN(page.limit, ReadNumber(request.Param("limit"), "limit"));
  }
  const std::string& asked = request.Param("resourceVersion");
  const std::string& match = request.Param("resourceVersionMatch");
  if (const std::string& token = request.Param("continue"); !token.empty()) {
    const StatusOr<std::string> text = DecodeBase64(token);
    const StatusOr<Json> read = text.ok() ? Json::Parse(*text) : text.status();
    if (!read.ok() || !(*read)["rv"].is_int()) {
      return BadRequest("continue key is not valid: it is not a token of this server");
    }
    page.version = static_cast<std::uint64_t>((*read)["rv"].AsInt());
    page.after = ObjectKey{(*read)["ns"].AsString(), (*read)["name"].AsString()};
    page.at_version = true;
    return page;
  }
  // The token contains its version, so these parameters are ignored with one.
  if (asked.empty() && !match.empty()) {
    return BadRequest("resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  // "0" allows any version; the newest one is fine.
  if (asked.empty() || asked == "0") return page;
  ASSIGN_OR_RETURN(const std::uint64_t version, ReadNumber(asked, "resourceVersion"));
  if (version > page.version) return TooLargeVersion(version, page.version);
  // "NotOlderThan", and a version alone, are satisfied by the newest. A page at a version is exact,
  // by Kubernetes' table of list semantics.
  if (match == "Exact" || (match.empty() && page.limit > 0)) {
    page.version = version;
    page.at_version = true;
  }
  return page;
}

Outcome<WatchHub::Spec> ObjectReader::ReadWatch(const ApiRequest& request,
                                                const KindRef& kind) const {
  ASSIGN_OR_RETURN(const Presentation presentation, ReadPresentation(request));
  WatchHub::Spec spec;
  spec.kind = kind;
  spec.ns = request.ns;
  ASSIGN_OR_RETURN(spec.selection, ReadSelection(request, *kind));
  if (!request.name.empty()) {
    spec.selection.fields.push_back({"metadata.name", Requirement::Operator::kIn, {request.name}});
  }
  const std::string& version = request.Param("resourceVersion");
  spec.bookmarks = request.Flag("allowWatchBookmarks");
  // Without a version a watch begins with the present objects, on which kubectl and old clients
  // rely.
  spec.initial_events = request.Flag("sendInitialEvents") || version.empty() || version == "0";
  spec.initial_bookmark = request.Flag("sendInitialEvents") && spec.bookmarks;
  spec.after = store_.version();
  if (!spec.initial_events) {
    ASSIGN_OR_RETURN(spec.after, ReadNumber(version, "resourceVersion"));
  }
  std::uint64_t seconds = 0;
  if (!request.Param("timeoutSeconds").empty()) {
    ASSIGN_OR_RETURN(seconds, ReadNumber(request.Param("timeoutSeconds"), "timeoutSeconds"));
  }
  // A day: longer than any client needs, and short enough not to overflow a Duration.
  constexpr std::uint64_t kSecondsMax = 24 * 60 * 60;
  spec.timeout =
      seconds > 0
          ? std::chrono::seconds(std::min(seconds, kSecondsMax))
          : kWatchTimeoutLeast +
                Duration(random_.Below(static_cast<std::uint64_t>(kWatchTimeoutLeast.count())));
  spec.present = [presentation, kind, &loop = loop_](const Json& object) {
    return presentation.One(*kind, object, loop.WallNow());
  };
  return spec;
}

}  // namespace galen::api_sim
