#include "probes/sysfs/sysfs_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "base/check.h"

namespace galen::probes {
namespace {

constexpr std::string_view kHangingReads = "galen_sysfs_hanging_reads";
// Looks that end within this time are passed on together: each evaluation goes through all devices.
constexpr Duration kTogether = std::chrono::milliseconds(10);

}  // namespace

// The look of a device under way: the thread notes what it is about to read, and the loop may ask.
struct SysfsProbe::Look {
  struct Place {
    std::string sign{}, file{};  // "" before the first file: it is at the directory itself
  };

  Look(Time started_in, SysfsDirectory directory_in)
      : started(started_in), directory(std::move(directory_in)) {}
  void GoTo(const std::string& sign, const std::string& file) {
    at.store(&places.emplace_back(sign, file), std::memory_order_release);
  }

  const Time started;
  // The thread's until it has returned.
  SysfsDirectory directory;
  std::deque<Place> places;
  // The place of these where the thread is, which does not change any more; nullptr: no thread is
  // there yet. An atomic, as the two share nothing else.
  std::atomic<const Place*> at = nullptr;
};

SysfsProbe::SysfsProbe(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      signs_(std::make_shared<const std::vector<SignSpec>>(parts_.rules.signs)) {
  parts_.metrics.DeclareGauge(kHangingReads,
                              "Devices with a file below /sys whose read has not returned.");
  CountHanging();
}

SysfsProbe::~SysfsProbe() = default;

void SysfsProbe::SetDevices(const std::vector<SysfsDevice>& devices) {
  GALEN_CHECK(devices.size() <= kDevicesMax);
  std::set<std::string> names;
  for (const SysfsDevice& device : devices) {
    names.insert(device.name);
    const auto known = watched_.find(device.name);
    if (known != watched_.end() && known->second.device == device) continue;
    // Another device of that name: what was known of the one before means nothing.
    watched_.insert_or_assign(device.name, Watched{.device = device,
                                                   .signs = DeviceSigns(parts_.rules, device),
                                                   .queue = parts_.make_queue()});
  }
  std::erase_if(watched_, [&](const auto& entry) { return !names.contains(entry.first); });
}

void SysfsProbe::NoteRemoved(const std::string& device) {
  const auto watched = watched_.find(device);
  if (watched != watched_.end()) watched->second.removed = parts_.loop.Now();
}

StatusOr<std::vector<Sign>> SysfsProbe::Observe() {
  observing_ = true;
  for (auto& [name, watched] : watched_) {
    if (watched.look != nullptr) continue;
    if (const auto removed = std::exchange(watched.removed, std::nullopt)) {
      watched.signs.NoteGone(*removed);
      watched.next.clear();
    }
    Begin(watched);
  }
  observing_ = false;
  std::vector<Sign> signs = std::exchange(ready_, {});
  for (auto& [name, watched] : watched_) NoteHanging(watched, signs);
  CountHanging();
  return signs;
}

std::vector<const SignSpec*> SysfsProbe::Due(Watched& watched) {
  std::vector<const SignSpec*> due;
  const Time now = parts_.loop.Now();
  for (const SignSpec* sign : WithFiles(*signs_)) {
    if (sign->file->every > Duration::zero()) {
      Time& next = watched.next[sign->name];
      if (now < next) continue;
      next = now + sign->file->every;
    }
    due.push_back(sign);
  }
  return due;
}

void SysfsProbe::Begin(Watched& watched) {
  SysfsDirectory directory = std::move(watched.directory);
  directory.path = options_.root + "/" + watched.device.path;
  directory.keep_open = options_.kept_files_most / watched_.size();
  auto look = std::make_unique<Look>(parts_.loop.Now(), std::move(directory));
  watched.look = look.get();
  // The probe may be gone when it returns; the files outlive the process's threads.
  auto work = [look = std::move(look), &files = parts_.files, signs = signs_, due = Due(watched)] {
    look->GoTo("", "");
    return LookAgainAtDevice(
        files, look->directory, due,
        [&look](const std::string& sign, const std::string& file) { look->GoTo(sign, file); });
  };
  RunFor(liveness_, *watched.queue, std::move(work),
         [this, look = watched.look, name = watched.device.name](const DeviceLook& result) {
           const auto it = watched_.find(name);
           if (it != watched_.end() && it->second.look == look) OnLook(it->second, result);
         });
}

void SysfsProbe::OnLook(Watched& watched, const DeviceLook& result) {
  watched.directory = std::move(std::exchange(watched.look, nullptr)->directory);
  if (std::exchange(watched.reported, false)) {
    parts_.log.Info("device answers again", {{"device", watched.device.name}});
    CountHanging();
  }
  // Whatever is back may be another device: all of it is read at once.
  if (!result.present) watched.next.clear();
  watched.signs.Take(result, {parts_.loop.Now(), parts_.loop.WallNow()}, ready_);
  if (!observing_) Flush();
}

void SysfsProbe::Flush() {
  const Time now = parts_.loop.Now();
  if (!flush_at_) flush_at_ = now + kTogether;
  const bool last = std::ranges::none_of(
      watched_, [](const auto& entry) { return entry.second.look != nullptr; });
  // Replaces the timer of an earlier call.
  flush_ = parts_.loop.At(last ? now : *flush_at_, [this] {
    flush_at_.reset();
    if (sink_ != nullptr && !ready_.empty()) sink_->OnSigns(std::exchange(ready_, {}));
  });
}

void SysfsProbe::NoteHanging(Watched& watched, std::vector<Sign>& signs) {
  if (watched.look == nullptr) return;
  const Duration waited = parts_.loop.Now() - watched.look->started;
  if (waited < options_.patience) return;
  const Look::Place* at = watched.look->at.load(std::memory_order_acquire);
  const bool begun = at != nullptr;
  const auto [name, file] = begun ? *at : Look::Place();
  const std::string what = file.empty() ? watched.device.path : file;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count();
  const std::string error = begun
                                ? fmt::format("{} has not answered for {} s", what, seconds)
                                : fmt::format("no thread has looked at {} for {} s", what, seconds);
  for (Sign& sign :
       watched.signs.Unknown(name.empty() ? "present" : name, error, parts_.loop.WallNow())) {
    signs.push_back(std::move(sign));
  }
  if (std::exchange(watched.reported, true)) return;
  parts_.log.Warning(begun ? "a file does not answer, its device is unknown"
                           : "no thread can look at a device, it is unknown",
                     {{"device", watched.device.name}, {"file", what}});
}

void SysfsProbe::CountHanging() {
  const auto hanging =
      std::ranges::count_if(watched_, [](const auto& entry) { return entry.second.reported; });
  parts_.metrics.Set(kHangingReads, {}, static_cast<double>(hanging));
}

}  // namespace galen::probes
