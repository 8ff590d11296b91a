#include <unistd.h>

#include <algorithm>

#include "base/loop/signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/get.h"
#include "cli/fleet/live_fleet.h"
#include "cli/output/live_picture.h"
#include "cli/output/row_changes.h"

namespace galen::cli {
namespace {

// Ages change, and Leases expire, without any event: the table is redrawn this often.
constexpr Duration kLookEvery = std::chrono::seconds(1);

// Draws the state of a LiveFleet. Belongs to the session's thread.
class Painter {
 public:
  Painter(Session& session, const LiveFleet& fleet, Options options, std::string kind,
          std::string name, Output& output)
      : session_(session),
        fleet_(fleet),
        options_(std::move(options)),
        kind_(std::move(kind)),
        name_(std::move(name)),
        output_(output),
        picture_(
            LivePicture::Keep::kFirst, [] { return SizeOfTerminal(STDOUT_FILENO); },
            [&output](std::string_view bytes) { output.Write(bytes); }) {}

  void Draw() {
    std::vector<std::string> status = fleet_.notes();
    for (const std::string& line : fleet_.trouble().Lines()) status.push_back(line);
    const bool json = options_.output == "json";
    if (!options_.terminal || json) PrintStatus(status);
    // While the API cannot be reached, ages are counted to the moment at which it was lost.
    const WallTime now = fleet_.trouble().since().value_or(session_.loop().WallNow());
    if (json) return DrawItems(now);
    if (!options_.terminal) return DrawRows(now);
    DrawPicture(now, status);
  }

 private:
  void DrawItems(WallTime now) {
    if (!fleet_.synced()) return;
    const auto document = JsonOf(fleet_.Join(now), kind_, name_, options_);
    if (document.ok()) output_.Write(items_.Next(*document));
  }

  // With ages each row would change each time, so a pipe gets the times themselves.
  void DrawRows(WallTime now) {
    if (!fleet_.synced()) return;
    const auto table = TableOf(fleet_.Join(now), kind_, name_, options_, {});
    if (table.ok()) output_.Write(rows_.Next(*table));
  }

  void DrawPicture(WallTime now, const std::vector<std::string>& status) {
    const std::size_t columns = SizeOfTerminal(STDOUT_FILENO).columns;
    std::vector<std::string> lines;
    if (fleet_.synced()) {
      const auto text = ShowLive(fleet_.Join(now), kind_, name_, options_, now, columns);
      lines = SplitLines(text.ok() ? *text : text.status().message());
    } else if (status.empty()) {
      return;  // the first answers are still to come
    }
    if (!status.empty()) lines.emplace_back();
    for (const std::string& sentence : status) {
      for (const std::string& line : WrapText(sentence, columns, "")) {
        lines.push_back(Paint(line, Tone::kWarning, options_.colour));
      }
    }
    picture_.Draw(std::move(lines));
  }

  void PrintStatus(const std::vector<std::string>& status) {
    for (const std::string& line : status) {
      if (std::find(shown_.begin(), shown_.end(), line) == shown_.end()) PrintError(line);
    }
    const bool live = !fleet_.trouble().since();
    if (live && !live_) PrintError("live again");
    live_ = live;
    shown_ = status;
  }

  Session& session_;
  const LiveFleet& fleet_;
  const Options options_;
  const std::string kind_, name_;
  Output& output_;
  LivePicture picture_;
  RowChanges rows_;
  ItemChanges items_;
  std::vector<std::string> shown_;
  bool live_ = true;
};

// The first requests are ordinary ones, so that a wrong address or a missing permission is reported
// at once and ends the command, as it ends `galen get`.
Status AskOnce(Session& session) {
  for (const kube::Resource& resource :
       {kube::kResourceSlices, kube::kPods, kube::kResourceClaims, kube::kNodeDeviceHealths}) {
    const Status status =
        session
            .Fetch(kube::List(resource, "",
                              {.selectors = {}, .limit = 1, .resume = "", .resource_version = ""}))
            .status();
    const bool undefined = resource == kube::kNodeDeviceHealths && status.code() == Code::kNotFound;
    if (!undefined) RETURN_IF_ERROR(status);
  }
  return OkStatus();
}

}  // namespace

StatusOr<int> Watch(const Options& options, std::string kind, std::string name, Output& output) {
  RETURN_IF_ERROR(SplitKind(kind, name));
  RETURN_IF_ERROR(Show({}, kind, "", options, {}).status());
  if (options.output == "yaml") {
    return InvalidArgument("changes cannot be printed as yaml: -o json gives an object a line");
  }
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  Interrupt interrupt(*loop);
  ASSIGN_OR_RETURN(const auto signals, SignalWatch::Start(*loop, [&interrupt] {
                     interrupt.Raise(Cancelled("interrupted"));
                   }));
  const auto watching = output.Watch(*loop, [&] { interrupt.Raise(output.status()); });
  ASSIGN_OR_RETURN(auto session, Session::Open(*loop, options, &interrupt));
  const Status asked = AskOnce(*session);
  if (!asked.ok() && !interrupt.raised()) return asked;
  Random random(Random::Seed());
  std::function<void()> draw;
  LiveFleet fleet(*session, random, [&draw] { draw(); });
  Painter painter(*session, fleet, options, kind, name, output);
  draw = [&painter] { painter.Draw(); };
  Timer tick;
  std::function<void()> look = [&] {
    painter.Draw();
    tick = loop->After(kLookEvery, [&look] { look(); });
  };
  fleet.Start();
  look();
  while (!interrupt.raised()) loop->Run();
  if (output.status().ok()) return kExitInterrupted;
  return ExitCodeOf(output);
}

}  // namespace galen::cli
