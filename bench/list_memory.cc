#include "bench/list_reader.h"
#include "bench/parts.h"
#include "bench/pod_list.h"
#include "net/endpoint/server.h"

namespace galen::bench {
namespace {

// About 5,000 Pods of the size of pod_list.h.
constexpr std::size_t kListBytes = 46'000'000;
constexpr Duration kReadWithin = std::chrono::seconds(120);
constexpr std::int64_t kPage = 500;
// The goal: text and what is kept of it may be there at once, and nothing more.
constexpr double kRatioMost = 2;

// Runs a reader to its end and gives its line.
StatusOr<Json> RunReader(Bench& bench, const ListReader& reader) {
  std::string line;
  bool ended = false;
  ASSIGN_OR_RETURN(
      const auto process,
      Process::Start(bench.loop,
                     {.command = CommandOf(reader, bench.bin_directory + "/galen-bench"),
                      .on_output = [&](std::string_view bytes) { line += bytes; }},
                     [&](Process::Exit) {
                       ended = true;
                       bench.loop.Stop();
                     }));
  const Time limit = bench.loop.Now() + kReadWithin;
  // Destroying `process` on the way out kills a reader that does not end.
  const Timer timer = bench.loop.At(limit, [&] { bench.loop.Stop(); });
  while (!ended && !bench.interrupted && bench.loop.Now() < limit) bench.loop.Run();
  if (!ended) return DeadlineExceeded("the reader of a Pod list does not end");
  return Json::Parse(line);
}

StatusOr<Figure> OneList(Bench& bench, const PodListServer& server, const std::string& url,
                         std::int64_t page) {
  ASSIGN_OR_RETURN(const Json used, RunReader(bench, {.server = url, .page = page}));
  if (used["pods"].AsInt() != static_cast<std::int64_t>(server.pods())) {
    return DataLoss("the reader found {} of {} Pods", used["pods"].AsInt(), server.pods());
  }
  const auto peak = static_cast<std::uint64_t>(used["peak"].AsInt());
  const double ratio = static_cast<double>(peak) / static_cast<double>(server.list_bytes());
  return Figure{.what = fmt::format(
                    "a Pod list of {} ({} Pods) read by an informer, {}: peak of memory",
                    Megabytes(server.list_bytes()), Count(server.pods()),
                    page == 0 ? std::string("in one answer") : fmt::format("in pages of {}", page)),
                .measured = fmt::format("{:.2f} × the list ({}, {} kept at the end), {}", ratio,
                                        Megabytes(peak),
                                        Megabytes(static_cast<std::uint64_t>(used["kept"].AsInt())),
                                        Milliseconds(Duration(used["nanos"].AsInt()))),
                .goal = "≤ 2 × the list",
                .met = ratio <= kRatioMost};
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureListMemory(Bench& bench) {
  // Served by this process, so that the reader's memory is the reader's alone.
  PodListServer pods(static_cast<int>(kListBytes / PodJson(0).size()));
  ASSIGN_OR_RETURN(const auto server,
                   net::Server::Start(bench.loop, NullLog(), {.address = "tcp:127.0.0.1:0"}, pods));
  const std::string url = "http://" + server->address().substr(std::string("tcp:").size());
  std::vector<Figure> figures;
  for (const std::int64_t page : {std::int64_t{0}, kPage}) {
    ASSIGN_OR_RETURN(Figure figure, OneList(bench, pods, url, page));
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace galen::bench
