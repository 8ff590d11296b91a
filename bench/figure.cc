#include "bench/figure.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "cli/output/table.h"

namespace galen::bench {
namespace {

constexpr std::string_view kNone = "–";

std::string MetText(const Figure& figure) {
  if (figure.goal.empty()) return std::string(kNone);
  return figure.met ? "yes" : "NO";
}

std::string GoalText(const Figure& figure) {
  return figure.goal.empty() ? std::string(kNone) : figure.goal;
}

// A bar would end the cell.
std::string Cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

}  // namespace

bool AllMet(const std::vector<Figure>& figures, Deciding deciding) {
  return std::all_of(figures.begin(), figures.end(), [deciding](const Figure& f) {
    return f.met || (f.is_time && deciding == Deciding::kNoTimes);
  });
}

Duration Percentile(std::vector<Duration> samples, double percent) {
  GALEN_CHECK(!samples.empty() && percent > 0 && percent <= 100);
  std::sort(samples.begin(), samples.end());
  // From 1; without the guard a rounding error at small percents could give 0.
  const double rank = std::ceil(percent / 100 * static_cast<double>(samples.size()));
  return samples[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

std::string Milliseconds(Duration time) {
  const double ms = std::chrono::duration<double, std::milli>(time).count();
  if (std::abs(ms) < 1) return fmt::format("{:.2f} ms", ms);
  return std::abs(ms) < 100 ? fmt::format("{:.1f} ms", ms) : fmt::format("{:.0f} ms", ms);
}

std::string Megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string Mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 1048576);
}

std::string Count(std::uint64_t count) {
  std::string text = std::to_string(count);
  // A comma before each three digits from the right.
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string Spread(const std::vector<Duration>& samples) {
  return fmt::format("p50 {}, p99 {}, worst {}", Milliseconds(Percentile(samples, 50)),
                     Milliseconds(Percentile(samples, 99)), Milliseconds(Percentile(samples, 100)));
}

std::string TextTable(const std::vector<Figure>& figures) {
  cli::Table table({"WHAT", "MEASURED", "GOAL", "MET"});
  for (const Figure& figure : figures) {
    table.Add({figure.what, figure.measured, GoalText(figure), MetText(figure)});
  }
  return table.Text(false);
}

std::string MarkdownPage(const std::vector<Figure>& figures, const RunFacts& facts) {
  std::string page = fmt::format(
      "# Figures\n\nOne run of `{}` on a machine with {} cores, {}. Times are of that machine; "
      "look at the\nratios and counts, and run it on yours. Written by `galen-bench "
      "--markdown`.\n\n"
      "| what | measured | goal | met |\n|---|---|---|---|\n",
      facts.command, facts.cores, facts.build);
  for (const Figure& figure : figures) {
    page += fmt::format("| {} | {} | {} | {} |\n", Cell(figure.what), Cell(figure.measured),
                        Cell(GoalText(figure)), MetText(figure));
  }
  page += "\n## How each is measured\n";
  for (const std::string& explanation : facts.explanations) page += "- " + explanation + "\n";
  return page;
}

}  // namespace galen::bench
