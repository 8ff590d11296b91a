#include "cli/watch.h"

#include <set>
#include <sstream>

#include "base/signal.h"
#include "cli/get.h"
#include "cli/live_fleet.h"

namespace galen::cli {
namespace {

// Ages move while nothing else does; a terminal shows them at this pace.
constexpr Duration kRedrawEvery = std::chrono::seconds(1);

constexpr std::string_view kHomeAndClear = "\x1b[H\x1b[J";
constexpr std::string_view kClearScreen = "\x1b[2J";

// Draws what a LiveFleet says. Belongs to the session's thread.
class Painter {
 public:
  Painter(Session& session, Options options, std::string kind, std::string name,
          std::function<void(std::string_view)> output)
      : session_(session),
        options_(std::move(options)),
        kind_(std::move(kind)),
        name_(std::move(name)),
        output_(std::move(output)) {}

  void Draw(const LiveFleet& fleet) {
    if (!fleet.synced()) return;
    // An age would make each line of a pipe differ each time: there it is the time itself.
    const WallTime now = options_.terminal ? session_.loop().WallNow() : WallTime{};
    const auto text = Show(fleet.Join(), kind_, name_, options_, now);
    const std::string shown = text.ok() ? *text : text.status().message() + "\n";
    if (options_.terminal) {
      output_(std::string(first_ ? kClearScreen : "") + std::string(kHomeAndClear) + shown);
    } else {
      output_(first_ ? shown : ChangedLines(shown_, shown));
    }
    first_ = false;
    shown_ = shown;
  }

 private:
  Session& session_;
  const Options options_;
  const std::string kind_, name_;
  const std::function<void(std::string_view)> output_;
  std::string shown_;
  bool first_ = true;
};

}  // namespace

std::string ChangedLines(const std::string& before, const std::string& after) {
  std::set<std::string> known;
  std::istringstream old_lines(before), new_lines(after);
  for (std::string line; std::getline(old_lines, line);) known.insert(line);
  std::string changed;
  for (std::string line; std::getline(new_lines, line);) {
    if (!known.contains(line)) changed += line + "\n";
  }
  return changed;
}

StatusOr<int> Watch(const Options& options, const std::string& kind, const std::string& name,
                    const std::function<void(std::string_view)>& output) {
  RETURN_IF_ERROR(Show({}, kind, "", options, {}).status());
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(auto session, Session::Open(*loop, options));
  // The first question is an ordinary one, so that a wrong address is told at once.
  RETURN_IF_ERROR(session->List(kube::kResourceSlices, "").status());
  Random random(Random::Seed());
  Painter painter(*session, options, kind, name, output);
  const LiveFleet* shown = nullptr;
  LiveFleet fleet(*session, random, [&] { painter.Draw(*shown); });
  shown = &fleet;
  Timer tick;
  std::function<void()> redraw = [&] {
    painter.Draw(fleet);
    tick = session->loop().After(kRedrawEvery, [&] { redraw(); });
  };
  ASSIGN_OR_RETURN(const auto signals,
                   SignalWatch::Start(session->loop(), [&] { session->loop().Stop(); }));
  fleet.Start();
  if (options.terminal) redraw();
  session->loop().Run();
  return 0;
}

}  // namespace galen::cli
