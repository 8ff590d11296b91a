#include <fmt/ranges.h>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

// The kernel's own default; guides of kind and many vendors ask for more.
constexpr std::int64_t kInstancesLeast = 128;
constexpr std::int64_t kWatchesLeast = 8192;
constexpr double kFileTableFull = 0.9;

// The agent's journal is rewritten at 16 MiB and needs twice that space meanwhile.
constexpr std::uint64_t kFreeLeast = std::uint64_t{32} << 20;
constexpr std::uint64_t kInodesLeast = 100;
// evictionHard of a kubelet: nodefs.available<10%, nodefs.inodesFree<5%.
constexpr double kFreeShareLeast = 0.10;
constexpr double kInodeShareLeast = 0.05;

std::string Mebibytes(std::uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

// cpu, memory and pids are those that the kubelet itself requires.
Outcome JudgeCgroup(const Observations& seen) {
  if (!seen.host.cgroup.ok()) return Unknown(seen.host.cgroup.status());
  const CgroupSeen& cgroup = *seen.host.cgroup;
  std::string text = fmt::format("version {}, controllers {}", cgroup.unified ? 2 : 1,
                                 fmt::join(cgroup.controllers, " "));
  for (const char* needed : {"cpu", "memory", "pids"}) {
    if (!cgroup.controllers.contains(needed)) return Bad(fmt::format("{}: no {}", text, needed));
  }
  return cgroup.unified ? Healthy(std::move(text)) : Warning(std::move(text));
}

Outcome JudgeInotifyInstances(const Observations& seen) {
  if (!seen.host.inotify.ok()) return Unknown(seen.host.inotify.status());
  const InotifySeen& inotify = *seen.host.inotify;
  // EMFILE of inotify_init(2); ENOSPC of inotify_add_watch(2) is the other check's.
  std::string text = fmt::format("max_user_instances is {}", inotify.instances_max);
  if (inotify.tried.code() == Code::kResourceExhausted &&
      inotify.tried.message().starts_with("inotify_init")) {
    return Bad(fmt::format("{}: {}", text, Shown(inotify.tried.message())));
  }
  return inotify.instances_max >= kInstancesLeast ? Healthy(std::move(text))
                                                  : Warning(std::move(text));
}

// The kernel answers ENOSPC for watches and EMFILE for instances.
Outcome JudgeWatches(const Observations& seen) {
  if (!seen.host.inotify.ok()) return Unknown(seen.host.inotify.status());
  const InotifySeen& inotify = *seen.host.inotify;
  std::string text = fmt::format("max_user_watches is {}", inotify.watches_max);
  if (inotify.tried.code() == Code::kResourceExhausted &&
      inotify.tried.message().starts_with("inotify_add_watch")) {
    return Bad(fmt::format("{}: {}", text, Shown(inotify.tried.message())));
  }
  return inotify.watches_max >= kWatchesLeast ? Healthy(std::move(text)) : Warning(std::move(text));
}

// The last tenth goes within seconds when something leaks.
Outcome JudgeFileTable(const Observations& seen) {
  if (!seen.host.file_table.ok()) return Unknown(seen.host.file_table.status());
  const FileTableSeen& table = *seen.host.file_table;
  std::string text = fmt::format("{} of {} are open", table.used, table.max);
  const bool full =
      static_cast<double>(table.used) > kFileTableFull * static_cast<double>(table.max);
  return full ? Bad(std::move(text)) : Healthy(std::move(text));
}

// STA_UNSYNC of adjtimex(2): set at boot, cleared by a time service.
Outcome JudgeTimeSync(const Observations& seen) {
  if (!seen.host.time_sync.ok()) return Unknown(seen.host.time_sync.status());
  const TimeSyncSeen& sync = *seen.host.time_sync;
  if (!sync.synchronised) return Warning("nothing synchronises the kernel's clock (adjtimex)");
  return Healthy("synchronised, at most " + ShownTime(sync.error_max) + " off");
}

// Seen only afterwards, in what the agent wrote.
Outcome JudgeJumps(const Observations& seen) {
  if (!seen.agent.journal.ok()) return Unknown(seen.agent.journal.status());
  return Judged(Level::kWarning, seen.agent.journal->jumps);
}

// Judges each disk that could be looked at. A missing directory is skipped: an agent that never ran
// has none.
template <typename Judgement>
Outcome EachDisk(const Observations& seen, Judgement judge) {
  std::vector<std::string> bad, warned, judged, skipped;
  Status why = Unavailable("not looked at");
  for (const DiskSeen& disk : seen.host.disks) {
    if (!disk.looked.ok()) {
      why = disk.looked;
      skipped.push_back(Shown(disk.path));
      continue;
    }
    judged.push_back(Shown(disk.path));
    const Outcome one = judge(disk);
    const std::string text = fmt::format("{} ({}): {}", Shown(disk.path), disk.of, one.seen);
    if (one.level == Level::kBad) bad.push_back(text);
    if (one.level == Level::kWarning) warned.push_back(text);
  }
  if (!bad.empty()) return Bad(Listed(bad));
  if (!warned.empty()) return Warning(Listed(warned));
  if (judged.empty()) return Unknown(why);
  // Whoever reads "healthy" must see of what.
  return Healthy(Listed(judged) + (skipped.empty() ? "" : "; not looked at: " + Listed(skipped)));
}

// 1 for a total of zero: a file system without a limit is never full.
double Share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

// An absolute number for writes that must still succeed, and the share at which the kubelet evicts.
Outcome JudgeSpace(const Observations& seen) {
  return EachDisk(seen, [](const DiskSeen& disk) {
    const double share = Share(disk.free_bytes, disk.bytes);
    std::string text = fmt::format("{} free, {:.0f} %", Mebibytes(disk.free_bytes), 100 * share);
    if (disk.free_bytes < kFreeLeast) return Bad(std::move(text));
    return share < kFreeShareLeast ? Warning(std::move(text)) : Healthy(std::move(text));
  });
}

// As for space: a number for files that must still be made, and the share for evictions.
Outcome JudgeInodes(const Observations& seen) {
  return EachDisk(seen, [](const DiskSeen& disk) {
    // btrfs and others make inodes on demand.
    if (disk.inodes == 0) return Healthy();
    const double share = Share(disk.free_inodes, disk.inodes);
    std::string text =
        fmt::format("{} free, {:.0f} %", Counted(disk.free_inodes, "inode"), 100 * share);
    if (disk.free_inodes < kInodesLeast) return Bad(std::move(text));
    return share < kInodeShareLeast ? Warning(std::move(text)) : Healthy(std::move(text));
  });
}

// By mount options and rights; nothing is written as a test.
Outcome JudgeWritable(const Observations& seen) {
  return EachDisk(seen, [](const DiskSeen& disk) {
    return disk.writable.ok() ? Healthy() : Bad(Shown(disk.writable.message()));
  });
}

std::vector<Check> KernelChecks() {
  return {
      // KEP-5573: kubelets from 1.35 on refuse version 1 unless failCgroupV1 is false.
      {"host.cgroup", Level::kBad, "Control groups are of version 2, with cpu, memory and pids",
       "Kubelets from 1.35 on do not start with version 1 unless failCgroupV1 is false, and Pods "
       "have no limits without these controllers. A warning where only the version is 1.",
       "Boot with systemd.unified_cgroup_hierarchy=1; until then set failCgroupV1: false.",
       JudgeCgroup},
      {"host.inotify-instances", Level::kBad, "There are enough inotify instances",
       "A kubelet, driver or agent that starts cannot watch files: drivers are found late or not "
       "at all.",
       "sysctl fs.inotify.max_user_instances=512, and the same in /etc/sysctl.d.",
       JudgeInotifyInstances},
      {"host.inotify-watches", Level::kBad, "There are enough inotify watches",
       "A kubelet, driver or agent that starts cannot watch files: drivers are found late or not "
       "at all.",
       "sysctl fs.inotify.max_user_watches=524288, and the same in /etc/sysctl.d.", JudgeWatches},
      {"host.open-files", Level::kBad, "The kernel's table of open files has room",
       "No process of the node can open files or sockets any more.",
       "Find who holds them (ls /proc/*/fd), or raise fs.file-max.", JudgeFileTable},
      {"host.time-sync", Level::kWarning, "A time service keeps the clock",
       "The clock drifts by seconds a day: times on Pods and in the journal are wrong.",
       "Run chrony or systemd-timesyncd.", JudgeTimeSync},
      {"host.clock-jumps", Level::kWarning, "The clock did not go back while the agent wrote",
       "The order of what galen why shows of that time is not the order in which it happened.",
       "Have the time service slew and not step the clock once the node is up.", JudgeJumps},
  };
}

}  // namespace

std::vector<Check> HostChecks() {
  std::vector<Check> checks = KernelChecks();
  const std::vector<Check> more = {
      {"host.disk-space", Level::kBad, "The disks of kubelet, agent and CDI have room",
       "Below 10 % the kubelet evicts Pods; on a full disk drivers prepare nothing and the agent's "
       "journal remembers nothing.",
       "Free space: images that are not used, logs, emptyDirs.", JudgeSpace},
      {"host.disk-inodes", Level::kBad, "The disks of kubelet, agent and CDI have inodes",
       "No file can be made, though there is space.",
       "Find directories of many small files and remove what is not needed.", JudgeInodes},
      {"host.disk-writable", Level::kBad, "The disks of kubelet, agent and CDI can be written to",
       "Claims are not prepared, and the agent forgets with each restart.",
       "A disk becomes read-only after errors: see dmesg. Else look at the mount and its owner.",
       JudgeWritable},
  };
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

}  // namespace galen::doctor
