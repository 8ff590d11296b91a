// What was measured, against what was promised, and how that is shown. Values; free of threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace galen::bench {

// One line of the result, as texts: whoever measures also says how it is to be read.
struct Figure {
  std::string what;
  std::string measured;
  std::string goal = {};  // "" = nothing was promised; shown because it explains the others
  // Stays true where nothing was promised.
  bool met = true;
  // Its goal is in units of time: a machine that is slow, or busy with other work, misses it
  // without a fault of ours. A ratio of two times in one run is none of these.
  bool is_time = false;
};

// Which figures decide whether a run is good.
enum class Deciding { kAll, kNoTimes };
bool AllMet(const std::vector<Figure>& figures, Deciding deciding);

// By the nearest rank: the smallest sample that at least `percent` of them do not exceed.
// REQUIRES: samples, 0 < percent <= 100.
Duration Percentile(std::vector<Duration> samples, double percent);

// "7.3 ms", "0.42 ms", "1240 ms": as many digits as mean something.
std::string Milliseconds(Duration time);
// "46.2 MB" of 10^6 bytes, as lists are counted; "17.4 MiB" of 2^20, as memory is.
std::string Megabytes(std::uint64_t bytes);
std::string Mebibytes(std::uint64_t bytes);
// "10,000"
std::string Count(std::uint64_t count);

// p50, p99 and the worst of some times, in one cell. REQUIRES: samples.
std::string Spread(const std::vector<Duration>& samples);

// For a terminal: what, measured, goal and whether it was met.
std::string TextTable(const std::vector<Figure>& figures);

// What a page needs to know of a run.
struct RunFacts {
  std::string command;
  std::size_t cores = 0;
  std::string build;
  std::vector<std::string> explanations;  // of the parts, in order; "**latency**: …"
};
// The whole page of the figures, for the guide; ends in a newline. `explanations` are list items in
// Markdown.
std::string MarkdownPage(const std::vector<Figure>& figures, const RunFacts& facts);

}  // namespace galen::bench
