// A libnvidia-ml.so.1 for tests that answers from a table: the file that $GALEN_NVML_ANSWERS names,
// looked at in every call, so that a test changes what a GPU shows by writing the file anew.
//
//   driver 570.124.06
//   gpus 2
//   0 uuid GPU-1            answers of GPU 0; what has no line is not supported
//   0 temperature 41
//   0 power result 999      that call fails with this nvmlReturn_t
//   0 handle 15             the GPU cannot be had at all
//   wait 15                 the wait for events fails
//   event-set 999           no set of events can be made
//   0 events result 999     it does not register for events
//   0 hangs 1               every call about GPU 0 blocks while this is so
//   xid 0 79                an event of GPU 0; each line is reported once
//   xid 0 13 2 0            of its GPU instance 2, compute instance 0
//   0 mig-most 7            so many MIG devices can be there
//   0 mig-3-uuid MIG-1      answers of the one at place 3; without this line there is none
//
// With $GALEN_NVML_FIXED the file is read once: looking at it would be most of what a call costs.
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "probes/nvml/nvml_abi.h"

namespace {

namespace nvml = galen::probes::nvml;

// Events of the present table that were reported.
std::atomic<std::size_t> g_reported = 0;
// Sets of events that were made and not freed.
std::atomic<int> g_event_sets = 0;
// GPUs of the newest set; the others' events are lost. Of the one thread that waits.
std::set<nvml::Device> g_registered;

// The table, read again when another file has its name.
class Table {
 public:
  // What follows `key` and a space; of two lines with one key the first counts.
  std::optional<std::string> Answer(const std::string& key) {
    const std::lock_guard lock(mu_);
    Refresh();
    const auto found = answers_.find(key);
    return found == answers_.end() ? std::nullopt : std::optional(found->second);
  }
  // The lines of events, in order.
  std::vector<std::string> Events() {
    const std::lock_guard lock(mu_);
    Refresh();
    return events_;
  }

 private:
  void Refresh() {
    if (fixed_ && !path_.empty()) return;
    const char* path = std::getenv("GALEN_NVML_ANSWERS");
    struct stat now = {};
    const bool there = path != nullptr && ::stat(path, &now) == 0;
    if (path_ != (path == nullptr ? "" : path)) {
      path_ = path == nullptr ? "" : path;
      g_reported = 0;
    }
    if (there && now.st_ino == inode_ && now.st_mtim.tv_sec == seconds_ &&
        now.st_mtim.tv_nsec == nanos_) {
      return;
    }
    inode_ = now.st_ino;
    seconds_ = now.st_mtim.tv_sec;
    nanos_ = now.st_mtim.tv_nsec;
    answers_.clear();
    events_.clear();
    std::ifstream file(there ? path : "");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("xid ")) {
        events_.push_back(line);
        continue;
      }
      // A GPU's lines begin with its number, a space and the name.
      const bool of_gpu = !line.empty() && line[0] >= '0' && line[0] <= '9';
      const std::size_t end = line.find(' ', of_gpu ? line.find(' ') + 1 : 0);
      if (end != std::string::npos) answers_.try_emplace(line.substr(0, end), line.substr(end + 1));
    }
  }

  const bool fixed_ = std::getenv("GALEN_NVML_FIXED") != nullptr;
  std::mutex mu_;
  std::string path_;
  ino_t inode_ = 0;
  time_t seconds_ = 0;
  long nanos_ = 0;
  std::unordered_map<std::string, std::string> answers_;
  std::vector<std::string> events_;
};

Table& Script() {
  static Table table;
  return table;
}

std::optional<std::string> Answer(const std::string& key) { return Script().Answer(key); }

// A handle is the GPU's number plus one, and of a MIG device its place plus one above that.
constexpr unsigned kPlaceShift = 16;

// How the lines of this device begin: "0 ", of a MIG device "0 mig-3-".
std::string PrefixOf(nvml::Device device) {
  const auto handle = reinterpret_cast<std::uintptr_t>(device);
  const std::uintptr_t place = handle >> kPlaceShift;
  const std::uintptr_t gpu = handle & ((std::uintptr_t{1} << kPlaceShift) - 1);
  return std::to_string(gpu - 1) + " " +
         (place == 0 ? "" : "mig-" + std::to_string(place - 1) + "-");
}

// The answer for a GPU, or what the call returns in its place.
int Find(nvml::Device device, const std::string& name, std::string& answer) {
  const std::string prefix = PrefixOf(device);
  const std::string key = prefix.substr(0, prefix.find(' ') + 1);
  while (Answer(key + "hangs") == "1") std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (const auto all = Answer(key + "result")) return std::stoi(*all);
  const auto found = Answer(prefix + name);
  if (!found) return nvml::kNotSupported;
  if (found->starts_with("result ")) return std::stoi(found->substr(7));
  answer = *found;
  return nvml::kSuccess;
}

template <typename Value>
int Number(nvml::Device device, const std::string& name, Value* value) {
  std::string answer;
  const int result = Find(device, name, answer);
  if (result == nvml::kSuccess) *value = static_cast<Value>(std::stoull(answer));
  return result;
}

int Text(nvml::Device device, const std::string& name, char* text, unsigned size) {
  std::string answer;
  const int result = Find(device, name, answer);
  if (result == nvml::kSuccess) std::snprintf(text, size, "%s", answer.c_str());
  return result;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const auto result = Answer("init");
  return result ? std::stoi(*result) : nvml::kSuccess;
}
int nvmlShutdown() { return nvml::kSuccess; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "%s", Answer("driver").value_or("").c_str());
  return nvml::kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(std::stoul(Answer("gpus").value_or("0")));
  return nvml::kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* device) {
  if (const auto result = Answer(std::to_string(index) + " handle")) return std::stoi(*result);
  *device = reinterpret_cast<nvml::Device>(static_cast<std::uintptr_t>(index) + 1);
  return nvml::kSuccess;
}
// "0000:4b:00.0" is the GPU whose bus is 75.
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, nvml::Device* device) {
  for (unsigned index = 0; Answer(std::to_string(index) + " bus"); ++index) {
    const std::string bus = *Answer(std::to_string(index) + " bus");
    if (std::stoul(std::string(address).substr(5, 2), nullptr, 16) != std::stoul(bus)) continue;
    return nvmlDeviceGetHandleByIndex_v2(index, device);
  }
  return nvml::kNotFound;
}
int nvmlDeviceGetUUID(nvml::Device device, char* text, unsigned size) {
  return Text(device, "uuid", text, size);
}
int nvmlDeviceGetSerial(nvml::Device device, char* text, unsigned size) {
  return Text(device, "serial", text, size);
}
int nvmlDeviceGetName(nvml::Device device, char* text, unsigned size) {
  return Text(device, "name", text, size);
}
int nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* info) {
  info->domain = 0;
  Number(device, "domain", &info->domain);
  return Number(device, "bus", &info->bus);
}
int nvmlDeviceGetMinorNumber(nvml::Device device, unsigned* minor) {
  return Number(device, "minor", minor);
}
int nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* memory) {
  return Number(device, "memory", &memory->total);
}
int nvmlDeviceGetMigMode(nvml::Device device, unsigned* now, unsigned* pending) {
  *pending = 0;
  return Number(device, "mig", now);
}
int nvmlDeviceGetMaxMigDeviceCount(nvml::Device device, unsigned* most) {
  return Number(device, "mig-most", most);
}
int nvmlDeviceGetMigDeviceHandleByIndex(nvml::Device device, unsigned place, nvml::Device* mig) {
  const auto handle = reinterpret_cast<std::uintptr_t>(device);
  *mig = reinterpret_cast<nvml::Device>(handle | ((std::uintptr_t{place} + 1) << kPlaceShift));
  std::string uuid;
  const int result = Find(*mig, "uuid", uuid);
  return result == nvml::kNotSupported ? nvml::kNotFound : result;
}
int nvmlDeviceGetGpuInstanceId(nvml::Device device, unsigned* id) {
  return Number(device, "gi", id);
}
int nvmlDeviceGetComputeInstanceId(nvml::Device device, unsigned* id) {
  return Number(device, "ci", id);
}
int nvmlDeviceGetAttributes_v2(nvml::Device device, nvml::DeviceAttributes* attributes) {
  Number(device, "multiprocessors", &attributes->multiprocessors);
  return Number(device, "memory", &attributes->memory_mebibytes);
}
int nvmlDeviceGetTemperature(nvml::Device device, int, unsigned* celsius) {
  return Number(device, "temperature", celsius);
}
int nvmlDeviceGetTemperatureThreshold(nvml::Device device, int limit, unsigned* celsius) {
  return Number(device, limit == nvml::kLimitSlowdown ? "slowdown-at" : "shutdown-at", celsius);
}
int nvmlDeviceGetPowerUsage(nvml::Device device, unsigned* milliwatts) {
  return Number(device, "power", milliwatts);
}
int nvmlDeviceGetUtilizationRates(nvml::Device device, nvml::Utilization* utilization) {
  return Number(device, "utilization", &utilization->gpu);
}
// "uncorrected 2" since the last reset, "uncorrected-ever 9" of the board's whole life.
int nvmlDeviceGetTotalEccErrors(nvml::Device device, int type, int counter,
                                unsigned long long* errors) {
  const std::string name = type == nvml::kEccCorrected ? "corrected" : "uncorrected";
  return Number(device, name + (counter == nvml::kEccEver ? "-ever" : ""), errors);
}
int nvmlDeviceGetRemappedRows(nvml::Device device, unsigned*, unsigned*, unsigned* pending,
                              unsigned* failed) {
  *failed = 0;
  Number(device, "remap-failed", failed);
  return Number(device, "remap-pending", pending);
}
int nvmlDeviceGetRetiredPagesPendingStatus(nvml::Device device, unsigned* pending) {
  return Number(device, "retirement-pending", pending);
}
int nvmlDeviceGetCurrPcieLinkWidth(nvml::Device device, unsigned* width) {
  return Number(device, "width", width);
}
int nvmlDeviceGetMaxPcieLinkWidth(nvml::Device device, unsigned* width) {
  return Number(device, "width-most", width);
}
int nvmlDeviceGetCurrPcieLinkGeneration(nvml::Device device, unsigned* generation) {
  return Number(device, "generation", generation);
}
int nvmlDeviceGetMaxPcieLinkGeneration(nvml::Device device, unsigned* generation) {
  return Number(device, "generation-most", generation);
}
int nvmlDeviceGetPcieReplayCounter(nvml::Device device, unsigned* replays) {
  return Number(device, "replays", replays);
}
int nvmlDeviceGetCurrentClocksEventReasons(nvml::Device device, unsigned long long* reasons) {
  return Number(device, "clock-reasons", reasons);
}
// "links 18" are there, "links-up 17" are up; "link-2 result 999": that one cannot be asked.
int nvmlDeviceGetNvLinkState(nvml::Device device, unsigned link, unsigned* active) {
  unsigned links = 0, up = 0;
  const int result = Number(device, "links", &links);
  if (result != nvml::kSuccess) return result;
  if (link >= links) return nvml::kInvalidArgument;
  unsigned own = 0;
  const int failed = Number(device, "link-" + std::to_string(link), &own);
  if (failed != nvml::kSuccess && failed != nvml::kNotSupported) return failed;
  Number(device, "links-up", &up);
  *active = link < up ? 1 : 0;
  return nvml::kSuccess;
}
// "link-3-replays 5"; what has no line is not supported by that link.
int nvmlDeviceGetNvLinkErrorCounter(nvml::Device device, unsigned link, int counter,
                                    unsigned long long* errors) {
  constexpr std::array kNames = {"replays", "recoveries", "crc-flits", "crc-data"};
  if (counter < 0 || static_cast<std::size_t>(counter) >= kNames.size()) {
    return nvml::kInvalidArgument;
  }
  const std::string name = kNames[static_cast<std::size_t>(counter)];
  return Number(device, "link-" + std::to_string(link) + "-" + name, errors);
}
int nvmlDeviceValidateInforom(nvml::Device device) {
  std::string answer;
  return Find(device, "inforom", answer);
}
int nvmlDeviceGetGpuFabricInfo(nvml::Device device, nvml::FabricInfo* info) {
  info->status = nvml::kSuccess;
  return Number(device, "fabric", &info->state);
}
// "link-3-field-220 524" is the field of that number of link 3; "double -1" is no whole number.
int nvmlDeviceGetFieldValues(nvml::Device device, int count, nvml::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    if (values[i].field_id >= 200 && values[i].field_id < 230) {
      std::string answer;
      values[i].result = Find(device,
                              "link-" + std::to_string(values[i].scope_id) + "-field-" +
                                  std::to_string(values[i].field_id),
                              answer);
      const bool is_double = answer.starts_with("double ");
      values[i].value_type = is_double ? 0 : 3;
      if (is_double) values[i].value.as_double = std::stod(answer.substr(7));
      if (!is_double && !answer.empty()) values[i].value.as_long = std::stoull(answer);
      continue;
    }
    const bool heat = values[i].field_id == nvml::kFieldMemoryTemperature;
    values[i].result = Number(device, heat ? "memory-temperature" : "recovery-action",
                              &values[i].value.as_unsigned);
  }
  return nvml::kSuccess;
}
int nvmlEventSetCreate(nvml::EventSet* set) {
  if (const auto result = Answer("event-set")) return std::stoi(*result);
  *set = &g_reported;
  ++g_event_sets;
  g_registered.clear();
  return nvml::kSuccess;
}
int nvmlEventSetFree(nvml::EventSet) {
  --g_event_sets;
  return nvml::kSuccess;
}
// Not NVML's: for tests, which see whether one is left.
int galenScriptedEventSets() { return g_event_sets; }
int nvmlDeviceRegisterEvents(nvml::Device device, unsigned long long, nvml::EventSet) {
  if (Answer("events") == "none") return nvml::kNotSupported;
  const auto own = Answer(PrefixOf(device) + "events");
  if (own && own->starts_with("result ")) return std::stoi(own->substr(7));
  g_registered.insert(device);
  return nvml::kSuccess;
}
int nvmlEventSetWait_v2(nvml::EventSet, nvml::EventData* event, unsigned milliseconds) {
  if (const auto result = Answer("wait")) return std::stoi(*result);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  do {
    std::size_t place = 0;
    for (const std::string& line : Script().Events()) {
      if (place++ < g_reported) continue;
      ++g_reported;
      std::istringstream words(line.substr(4));
      std::uintptr_t index = 0;
      words >> index >> event->data;
      event->device = reinterpret_cast<nvml::Device>(index + 1);
      if (!g_registered.contains(event->device)) continue;
      event->type = nvml::kEventXid;
      if (!(words >> event->gpu_instance)) event->gpu_instance = nvml::kNoInstance;
      if (!(words >> event->compute_instance)) event->compute_instance = nvml::kNoInstance;
      return nvml::kSuccess;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() < end);
  return nvml::kTimeout;
}

}  // extern "C"
