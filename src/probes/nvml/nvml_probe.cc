#include "probes/nvml/nvml_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace galen::probes {
namespace {

// One wait for XIDs; a clean end waits for it.
constexpr Duration kWait = std::chrono::seconds(1);
// Between two waits; what happens meanwhile NVML keeps.
constexpr Duration kBreath = std::chrono::milliseconds(10);
// After a wait that failed.
constexpr Duration kWaitAgain = std::chrono::seconds(5);

// XIDs of NVLink 5: most of them are nonfatal, as the text of the log's line says.
constexpr std::uint64_t kNvLink5First = 144, kNvLink5Last = 150;

std::int64_t Seconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

bool IsShown(const std::vector<Sign>& signs, std::string_view name) {
  return std::ranges::any_of(signs, [&](const Sign& sign) { return sign.name == name; });
}

}  // namespace

NvmlProbe::NvmlProbe(Parts parts, std::map<std::string, NvmlGpu> gpus)
    : parts_(std::move(parts)), xid_queue_(parts_.make_queue()) {
  for (auto& [device, gpu] : gpus) {
    auto each = std::make_unique<Gpu>();
    each->device = device;
    each->gpu = std::move(gpu);
    each->queue = parts_.make_queue();
    by_uuid_[each->gpu.uuid] = each.get();
    gpus_.push_back(std::move(each));
  }
}

void NvmlProbe::Start(SignSink& readings, SignSink& xids,
                      std::function<void()> partitions_changed) {
  readings_ = &readings;
  xids_ = &xids;
  partitions_changed_ = std::move(partitions_changed);
  WaitForXids();
}

StatusOr<std::vector<Sign>> NvmlProbe::Observe() {
  const Time now = parts_.loop.Now();
  std::vector<Sign> hung;
  for (const auto& gpu : gpus_) {
    if (!gpu->began) {
      Read(*gpu);
    } else if (now - *gpu->began >= kPatience) {
      hung.push_back({.device = gpu->device,
                      .name = "nvml",
                      .time = parts_.loop.WallNow(),
                      .error = fmt::format("no answer for {} s", Seconds(kPatience))});
    }
  }
  if (wait_began_ && now - *wait_began_ >= kWait + kPatience) {
    const std::string error = fmt::format("no answer for {} s", Seconds(kPatience));
    for (const auto& gpu : gpus_) hung.push_back(XidsReported(*gpu, error));
  }
  return hung;
}

void NvmlProbe::Read(Gpu& gpu) {
  const Time now = parts_.loop.Now();
  const bool deep = !gpu.deep || now - *gpu.deep >= kDeepEvery;
  if (deep) gpu.deep = now;
  const NvmlDepth depth = deep ? NvmlDepth::kAll : NvmlDepth::kPoll;
  gpu.began = now;
  gpu.queue->Run(
      [this, &gpu, depth] {
        gpu.signs = parts_.nvml.Read(gpu.gpu, depth);
        gpu.partitioned = parts_.nvml.IsPartitioned(gpu.gpu);
        if (gpu.partitioned.value_or(gpu.gpu.is_partitioned)) {
          gpu.partitions = parts_.nvml.Partitions(gpu.gpu);
        }
      },
      [this, &gpu] { OnRead(gpu); });
}

const NvmlGpu& NvmlProbe::GpuOf(const std::string& device) const {
  const auto gpu =
      std::ranges::find_if(gpus_, [&device](const auto& each) { return each->device == device; });
  GALEN_CHECK(gpu != gpus_.end());
  return (*gpu)->gpu;
}

bool NvmlProbe::TakeMode(Gpu& gpu) {
  const std::optional<bool> now = std::exchange(gpu.partitioned, std::nullopt);
  if (!now) return false;
  // As after a start while the versions of module and library did not match.
  gpu.gpu.is_mode_unknown = false;
  if (*now == gpu.gpu.is_partitioned) return false;
  parts_.log.Info(*now ? "GPU is cut into MIG instances now, which are devices in its place"
                       : "GPU is not cut into MIG instances any more",
                  {{"device", gpu.device}});
  gpu.gpu.is_partitioned = *now;
  gpu.gpu.partitions.clear();
  return true;
}

void NvmlProbe::TakePartitions(Gpu& gpu) {
  // What NVML does not say now stays: a GPU that is lost has taken its instances with it, and the
  // Pods that hold them are to show it.
  bool changed = TakeMode(gpu);
  const auto now = std::exchange(gpu.partitions, std::nullopt);
  if (now && *now != gpu.gpu.partitions) {
    parts_.log.Info(
        "the MIG instances of a GPU have changed",
        {{"device", gpu.device}, {"before", gpu.gpu.partitions.size()}, {"now", now->size()}});
    gpu.gpu.partitions = *now;
    changed = true;
  }
  if (changed && partitions_changed_) partitions_changed_();
}

void NvmlProbe::OnRead(Gpu& gpu) {
  const Duration took = parts_.loop.Now() - *std::exchange(gpu.began, std::nullopt);
  if (took >= kPatience) {
    parts_.log.Warning("NVML answers again", {{"device", gpu.device}, {"after", FormatAge(took)}});
  }
  TakePartitions(gpu);
  std::vector<Sign> signs = std::exchange(gpu.signs, {});
  KeepNews(gpu, signs);
  // NVML may answer, and not know this GPU: then nothing was read of it.
  if (!IsShown(signs, "nvml")) {
    EndMismatch(gpu, signs);
    signs.push_back({.name = "nvml", .value = 1.0});
  }
  for (Sign& sign : signs) {
    sign.device = gpu.device;
    sign.time = parts_.loop.WallNow();
    // Once more at the next poll, not in ten minutes.
    if (sign.name == "inforom-broken" && !sign.error.empty()) gpu.deep.reset();
    if (sign.name != "nvlinks-up") continue;
    // NVML does not say how many links this board has wired; one that was up can be.
    gpu.links_up = std::max(gpu.links_up, NumberOf(sign).value_or(0));
    sign.expected = gpu.links_up;
  }
  readings_->OnSigns(std::move(signs));
}

void NvmlProbe::KeepNews(Gpu& gpu, std::vector<Sign>& signs) {
  const auto before = std::exchange(gpu.events, {});
  std::erase_if(signs, [&](const Sign& sign) {
    const bool is_event = sign.name == "gpu-lost" || sign.name == "recovery-action";
    if (!is_event || !sign.error.empty()) return false;
    const double value = NumberOf(sign).value_or(0);
    gpu.events[sign.name] = value;
    const auto shown = before.find(sign.name);
    return shown != before.end() && shown->second == value;
  });
  // A GPU that asks for nothing when it is first looked at most likely did not before either.
  for (Sign& sign : signs) {
    const bool nothing = sign.name == "recovery-action" && NumberOf(sign) == 0.0;
    sign.maybe_old = nothing && sign.error.empty() && !before.contains(sign.name);
  }
  if (gpu.events.contains("gpu-lost")) return;
  const auto asked = before.find("recovery-action");
  if (asked == before.end() || asked->second == 0 || gpu.events.contains("recovery-action")) return;
  // Only a read that could have shown the request takes it back; a read with an error could not.
  if (IsShown(signs, "nvml") || IsShown(signs, "kernel-module") ||
      IsShown(signs, "recovery-action")) {
    gpu.events.insert(*asked);
    return;
  }
  signs.push_back({.name = "recovery-action", .raw = "NVML: the GPU needs no reset any more"});
}

void NvmlProbe::EndMismatch(Gpu& gpu, std::vector<Sign>& signs) {
  const bool before = std::exchange(gpu.mismatch, IsShown(signs, "kernel-module"));
  if (!before || gpu.mismatch) return;
  signs.push_back({.name = "kernel-module",
                   .raw = "NVML: kernel module and library are of one version",
                   .absent = true});
}

void NvmlProbe::WaitForXids() {
  wait_began_ = parts_.loop.Now();
  xid_queue_->Run([this] { waited_ = parts_.nvml.WaitForXids(kWait); }, [this] { OnXids(); });
}

void NvmlProbe::OnXids() {
  wait_began_.reset();
  if (!waited_.ok()) return OnWaitFailed(waited_.status());
  failed_waits_ = 0;
  NoteSilence(*waited_);
  TakeXids(waited_->xids);
  timer_ = parts_.loop.After(kBreath, [this] { WaitForXids(); });
}

void NvmlProbe::OnWaitFailed(const Status& status) {
  const std::string& error = status.message();
  if (++failed_waits_ == 1) parts_.log.Warning("NVML reports no XIDs now", {{"error", error}});
  std::vector<Sign> signs;
  if (status.code() == Code::kUnimplemented) {
    // Nothing is missed of what is never reported.
    for (const auto& gpu : gpus_) {
      if (!gpu->xids_missed) continue;
      signs.push_back(XidsReported(*gpu, ""));
      signs.back().absent = true;
    }
    if (!signs.empty()) readings_->OnSigns(std::move(signs));
    return;
  }
  // The first may be of a GPU that is lost, which the next set is without.
  if (failed_waits_ > 1) {
    for (const auto& gpu : gpus_) signs.push_back(XidsReported(*gpu, error));
    readings_->OnSigns(std::move(signs));
  }
  timer_ = parts_.loop.After(kWaitAgain, [this] { WaitForXids(); });
}

void NvmlProbe::NoteSilence(const NvmlXids& waited) {
  std::vector<Sign> signs;
  for (const auto& gpu : gpus_) {
    const auto refused = waited.refused.find(gpu->gpu.uuid);
    const bool is_silent = waited.silent.contains(gpu->gpu.uuid);
    std::string complaint = is_silent ? "this GPU never reports XIDs by NVML" : "";
    if (refused != waited.refused.end()) complaint = refused->second;
    if (std::exchange(gpu->xid_complaint, complaint) != complaint && !complaint.empty()) {
      parts_.log.Warning("NVML reports no XIDs of a GPU",
                         {{"device", gpu->device}, {"error", complaint}});
    }
    gpu->refusals = refused == waited.refused.end() ? 0 : gpu->refusals + 1;
    // As of all GPUs: one refusal is soon over, and what is never reported is not missed.
    const bool missed = gpu->refusals > (gpu->xids_missed ? 0 : 1);
    if (missed == gpu->xids_missed) continue;
    signs.push_back(XidsReported(*gpu, missed ? complaint : ""));
    signs.back().absent = is_silent;
  }
  if (!signs.empty()) readings_->OnSigns(std::move(signs));
}

Sign NvmlProbe::XidsReported(Gpu& gpu, const std::string& error) const {
  gpu.xids_missed = !error.empty();
  return {.device = gpu.device,
          .name = "nvml-events",
          .value = 1.0,
          .time = parts_.loop.WallNow(),
          .error = error};
}

void NvmlProbe::TakeXids(const std::vector<NvmlXid>& xids) {
  std::vector<Sign> signs;
  for (const NvmlXid& xid : xids) {
    const auto gpu = by_uuid_.find(xid.uuid);
    if (gpu == by_uuid_.end()) continue;
    const std::string& device = gpu->second->device;
    if (xid.number >= kNvLink5First && xid.number <= kNvLink5Last) {
      parts_.log.Info("NVML reports an XID whose severity only the kernel's log has",
                      {{"device", device}, {"xid", xid.number}});
      continue;
    }
    signs.push_back({.device = device,
                     .name = "xid",
                     .value = static_cast<double>(xid.number),
                     .part = gpu->second->gpu.is_partitioned ? xid.part : "",
                     .time = parts_.loop.WallNow(),
                     .raw = fmt::format("NVML: Xid {}", xid.number)});
  }
  if (!signs.empty()) xids_->OnSigns(std::move(signs));
}

}  // namespace galen::probes
