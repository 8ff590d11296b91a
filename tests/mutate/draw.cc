#include "tests/mutate/draw.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "base/data/fnv1a.h"
#include "base/random.h"

namespace galen::mutate {
namespace {

struct Place {
  const Code* code = nullptr;
  const std::string* path = nullptr;
  std::string_view kind;
  Change change;
};

// Without line ends and with single spaces, for a table of one row a fault.
std::string OnOneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space) line += c;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

// From the begin of the change's first line to the end of its last.
std::pair<std::size_t, std::size_t> LinesOf(const std::string& source, const Change& change) {
  const std::size_t begin = change.begin == 0 ? 0 : source.rfind('\n', change.begin - 1) + 1;
  return {begin, std::min(source.find('\n', change.begin + change.length), source.size())};
}

Fault FaultAt(const Place& place) {
  const std::string& source = place.code->source();
  const Change& change = place.change;
  const auto [begin, end] = LinesOf(source, change);
  const std::string head = source.substr(begin, change.begin - begin);
  const std::size_t rest = change.begin + change.length;
  const auto line =
      std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(change.begin), '\n');
  return {.path = *place.path,
          .line = static_cast<std::size_t>(line) + 1,
          .kind = std::string(place.kind),
          .before = OnOneLine(source.substr(begin, end - begin)),
          .after = OnOneLine(head + change.after + source.substr(rest, end - rest)),
          .source = source.substr(0, change.begin) + change.after + source.substr(rest)};
}

// All places of each kind, in the order of the sources.
std::vector<std::vector<Place>> PlacesOf(const std::vector<SourceText>& sources,
                                         const std::vector<std::unique_ptr<Code>>& codes) {
  std::vector<std::vector<Place>> places;
  std::set<std::tuple<std::size_t, std::size_t, std::size_t, std::string>> seen;
  for (const FaultKind& kind : FaultKinds()) {
    places.emplace_back();
    for (std::size_t i = 0; i < codes.size(); ++i) {
      for (Change& change : kind.find(*codes[i])) {
        if (!seen.emplace(i, change.begin, change.length, change.after).second) continue;
        places.back().push_back({codes[i].get(), &sources[i].path, kind.name, std::move(change)});
      }
    }
  }
  return places;
}

}  // namespace

std::vector<Fault> Draw(const std::vector<SourceText>& sources, const std::string& room,
                        std::uint64_t seed, std::size_t count) {
  std::vector<std::unique_ptr<Code>> codes;
  for (const SourceText& source : sources) codes.push_back(std::make_unique<Code>(source.text));
  std::vector<std::vector<Place>> places = PlacesOf(sources, codes);
  Random random(seed ^ Fnv1a(room));
  std::vector<Fault> faults;
  while (faults.size() < count) {
    std::erase_if(places, [](const std::vector<Place>& of_kind) { return of_kind.empty(); });
    if (places.empty()) break;
    std::vector<Place>& of_kind = places[random.Below(places.size())];
    const auto drawn = of_kind.begin() + static_cast<std::ptrdiff_t>(random.Below(of_kind.size()));
    faults.push_back(FaultAt(*drawn));
    of_kind.erase(drawn);
  }
  return faults;
}

}  // namespace galen::mutate
