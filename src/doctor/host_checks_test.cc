// The checks of host_checks.cc, each finding one thing that is wrong.
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;

const std::vector<Flaw>& KernelFlaws() {
  static const std::vector<Flaw> kFlaws = {
      {{"host.cgroup warning"},
       "version 1",
       [](Observations& s) { s.host.cgroup->unified = false; }},
      {{"host.cgroup bad"},
       "no memory",
       [](Observations& s) { s.host.cgroup->controllers.erase("memory"); }},
      {{"host.inotify-instances warning"},
       "max_user_instances is 64",
       [](Observations& s) { s.host.inotify->instances_max = 64; }},
      {{"host.inotify-instances bad"},
       "Too many open files",
       [](Observations& s) {
         s.host.inotify->tried = ResourceExhausted("inotify_init: Too many open files");
       }},
      {{"host.inotify-watches warning"},
       "max_user_watches is 4096",
       [](Observations& s) { s.host.inotify->watches_max = 4096; }},
      {{"host.inotify-watches bad"},
       "No space left",
       [](Observations& s) {
         s.host.inotify->tried = ResourceExhausted("inotify_add_watch: No space left on device");
       }},
      {{"host.open-files bad"},
       "950 of 1000 are open",
       [](Observations& s) { s.host.file_table = FileTableSeen{.used = 950, .max = 1000}; }},
      {{"host.time-sync warning"},
       "nothing synchronises",
       [](Observations& s) { s.host.time_sync->synchronised = false; }},
      {{"host.clock-jumps warning"},
       "back by 5.0 s",
       [](Observations& s) {
         s.agent.journal->jumps = {"from 2026-11-21T14:02:11Z back by 5.0 s"};
       }},
  };
  return kFlaws;
}

const std::vector<Flaw>& DiskFlaws() {
  static const std::vector<Flaw> kFlaws = {
      {{"host.disk-space bad"},
       "/var/lib/galen (galen-agent): 4 MiB free",
       [](Observations& s) { s.host.disks[1].free_bytes = std::uint64_t{4} << 20; }},
      {{"host.disk-space warning"},
       "/k (the kubelet): 8192 MiB free, 8 %",
       [](Observations& s) { s.host.disks[0].free_bytes = std::uint64_t{8} << 30; }},
      {{"host.disk-inodes bad"},
       "12 inodes free",
       [](Observations& s) { s.host.disks[1].free_inodes = 12; }},
      {{"host.disk-inodes warning"},
       "60000 inodes free, 1 %",
       [](Observations& s) { s.host.disks[1].free_inodes = 60'000; }},
      {{"host.disk-writable bad"},
       "/k (the kubelet): it is mounted read-only",
       [](Observations& s) {
         s.host.disks[0].writable = FailedPrecondition("it is mounted read-only");
       }},
  };
  return kFlaws;
}

TEST(HostChecks, EachFindsWhatItIsFor) {
  std::vector<Flaw> flaws = KernelFlaws();
  flaws.insert(flaws.end(), DiskFlaws().begin(), DiskFlaws().end());
  ExpectEachIsFound(flaws, HostChecks());
}

TEST(HostChecks, AFullDiskIsReportedEvenIfAnotherIsOnlyFillingUp) {
  Observations seen = GoodObservations();
  seen.host.disks[0].free_bytes = std::uint64_t{8} << 30;
  seen.host.disks[1].free_bytes = 0;
  const CheckResult result = ResultOf(seen, "host.disk-space");
  EXPECT_EQ(result.level, Level::kBad);
  EXPECT_THAT(result.seen, ::testing::HasSubstr("/var/lib/galen"));
}

TEST(HostChecks, ADiskWithoutALimitOfInodesHasEnough) {
  Observations seen = GoodObservations();
  seen.host.disks[0].inodes = seen.host.disks[0].free_inodes = 0;
  EXPECT_EQ(ResultOf(seen, "host.disk-inodes").level, Level::kGood);
}

TEST(HostChecks, ADirectoryThatIsNotThereIsNotJudged) {
  Observations seen = GoodObservations();
  seen.host.disks[1].looked = NotFound("statvfs /var/lib/galen: No such file or directory");
  seen.host.disks[1].free_bytes = 0;
  EXPECT_EQ(ResultOf(seen, "host.disk-space").level, Level::kGood);
  EXPECT_THAT(ResultOf(seen, "host.disk-space").seen,
              ::testing::HasSubstr("not looked at: /var/lib/galen"));
  seen.host.disks[0].looked = NotFound("statvfs /k: No such file or directory");
  EXPECT_EQ(ResultOf(seen, "host.disk-space").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::doctor
