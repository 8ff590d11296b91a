#include "probes/nvml/nvml_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace galen::probes {
namespace {

// One wait for XIDs; a clean end waits for it.
constexpr Duration kWait = std::chrono::seconds(1);
// Between two waits; what happens meanwhile NVML keeps.
constexpr Duration kBreath = std::chrono::milliseconds(10);
// After a wait that failed.
constexpr Duration kWaitAgain = std::chrono::seconds(5);

}  // namespace

NvmlProbe::NvmlProbe(Parts parts, std::map<std::string, NvmlGpu> gpus)
    : parts_(std::move(parts)), xid_queue_(parts_.make_queue()) {
  for (auto& [device, gpu] : gpus) {
    device_of_uuid_[gpu.uuid] = device;
    auto each = std::make_unique<Gpu>();
    each->device = device;
    each->gpu = std::move(gpu);
    each->queue = parts_.make_queue();
    gpus_.push_back(std::move(each));
  }
}

void NvmlProbe::Start(SignSink& readings, SignSink& xids) {
  readings_ = &readings;
  xids_ = &xids;
  WaitForXids();
}

bool NvmlProbe::idle() const {
  if (wait_began_ && parts_.loop.Now() - *wait_began_ >= kWait + kPatience) return false;
  return std::ranges::none_of(gpus_, [](const auto& gpu) { return gpu->began.has_value(); });
}

StatusOr<std::vector<Sign>> NvmlProbe::Observe() {
  std::vector<Sign> hung;
  for (const auto& gpu : gpus_) {
    if (!gpu->began) {
      Read(*gpu);
    } else if (parts_.loop.Now() - *gpu->began >= kPatience) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kPatience).count();
      hung.push_back({.device = gpu->device,
                      .name = "nvml",
                      .time = parts_.loop.WallNow(),
                      .error = fmt::format("no answer for {} s", seconds)});
    }
  }
  return hung;
}

void NvmlProbe::Read(Gpu& gpu) {
  const Time now = parts_.loop.Now();
  const bool deep = !gpu.deep || now - *gpu.deep >= kDeepEvery;
  if (deep) gpu.deep = now;
  const NvmlDepth depth = deep ? NvmlDepth::kAll : NvmlDepth::kPoll;
  gpu.began = now;
  gpu.queue->Run([this, &gpu, depth] { gpu.signs = parts_.nvml.Read(gpu.gpu, depth); },
                 [this, &gpu] { OnRead(gpu); });
}

void NvmlProbe::OnRead(Gpu& gpu) {
  const Duration took = parts_.loop.Now() - *std::exchange(gpu.began, std::nullopt);
  if (took >= kPatience) {
    parts_.log.Warning("NVML answers again", {{"device", gpu.device}, {"after", FormatAge(took)}});
  }
  std::vector<Sign> signs = std::exchange(gpu.signs, {});
  std::erase_if(signs, [&gpu](const Sign& sign) { return IsRepeated(gpu, sign); });
  signs.push_back({.name = "nvml", .value = 1.0});
  for (Sign& sign : signs) {
    sign.device = gpu.device;
    sign.time = parts_.loop.WallNow();
    if (sign.name != "nvlinks-up") continue;
    // NVML does not say how many links this board has wired; one that was up can be.
    gpu.links_up = std::max(gpu.links_up, NumberOf(sign).value_or(0));
    sign.expected = gpu.links_up;
  }
  readings_->OnSigns(std::move(signs));
}

bool NvmlProbe::IsRepeated(Gpu& gpu, const Sign& sign) {
  if (sign.name != "gpu-lost" && sign.name != "recovery-action") return false;
  const double value = NumberOf(sign).value_or(0);
  const auto [shown, first] = gpu.events.try_emplace(sign.name, value);
  return !first && std::exchange(shown->second, value) == value;
}

void NvmlProbe::WaitForXids() {
  wait_began_ = parts_.loop.Now();
  xid_queue_->Run([this] { waited_ = parts_.nvml.WaitForXids(kWait); }, [this] { OnXids(); });
}

void NvmlProbe::OnXids() {
  wait_began_.reset();
  Duration pause = kBreath;
  if (!waited_.ok()) {
    if (!std::exchange(xids_failed_, true)) {
      parts_.log.Warning(
          "NVML reports no XIDs; the kernel's log still does where --kernel-log is given",
          {{"error", waited_.status().message()}});
    }
    if (waited_.status().code() == Code::kUnimplemented) return;
    pause = kWaitAgain;
  } else if (!waited_->empty()) {
    xids_failed_ = false;
    std::vector<Sign> signs;
    for (const NvmlXid& xid : *waited_) {
      const auto device = device_of_uuid_.find(xid.uuid);
      if (device == device_of_uuid_.end()) continue;
      signs.push_back({.device = device->second,
                       .name = "xid",
                       .value = static_cast<double>(xid.number),
                       .time = parts_.loop.WallNow(),
                       .raw = fmt::format("NVML: Xid {}", xid.number)});
    }
    if (!signs.empty()) xids_->OnSigns(std::move(signs));
  }
  timer_ = parts_.loop.After(pause, [this] { WaitForXids(); });
}

}  // namespace galen::probes
