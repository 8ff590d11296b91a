// The checks of driver_checks.cc, each finding one thing that is wrong.
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

RegistryEntry& DriverOf(Observations& seen) { return (*seen.registry)[0]; }

RegistryEntry Stray(RegistryEntry::Kind kind, const std::string& name) {
  return {.path = "/k/plugins_registry/" + name, .kind = kind, .hidden = name.starts_with('.')};
}

// A second instance of the driver, registered.
RegistryEntry Second(Observations& seen, const std::string& endpoint) {
  RegistryEntry entry = GoodDriver("gpu.example.com");
  entry.path = "/k/plugins_registry/second.sock";
  entry.info->endpoint = endpoint;
  (*seen.kubelet.plugins)[entry.path] = {.wanted = true, .registered = true};
  return entry;
}

// Registered sockets that do not answer any more.
RegistryEntry Silent(const Status& connected, const Status& answer) {
  RegistryEntry entry{.path = "/k/plugins_registry/silent.sock"};
  entry.connected = connected;
  entry.info = answer;
  return entry;
}

const std::vector<Flaw>& SocketFlaws() {
  static const std::vector<Flaw> kFlaws = {
      {{"drivers.registry bad", "drivers.strays unknown", "drivers.dead-sockets unknown",
        "drivers.answer unknown", "drivers.registered unknown", "drivers.unique unknown",
        "drivers.instances unknown", "drivers.endpoint unknown", "drivers.service unknown",
        "drivers.health unknown", "drivers.health-version unknown", "slices.missing unknown",
        "slices.orphaned unknown", "claims.driver-gone unknown", "agent.drivers unknown"},
       "No such file",
       [](Observations& s) { s.registry = NotFound("list /k: No such file or directory"); }},
      {{"drivers.strays warning"},
       "readme.txt is a plain file",
       [](Observations& s) {
         s.registry->push_back(Stray(RegistryEntry::Kind::kFile, "readme.txt"));
       }},
      {{"drivers.strays warning"},
       "link.sock is a symlink",
       [](Observations& s) {
         s.registry->push_back(Stray(RegistryEntry::Kind::kSymlink, "link.sock"));
       }},
      {{"drivers.strays warning"},
       ".hidden.sock has a name with a leading dot",
       [](Observations& s) {
         s.registry->push_back(Stray(RegistryEntry::Kind::kSocket, ".hidden.sock"));
       }},
      {{"drivers.strays warning"},
       "pipe is no socket",
       [](Observations& s) { s.registry->push_back(Stray(RegistryEntry::Kind::kOther, "pipe")); }},
      {{"drivers.dead-sockets bad"},
       "silent.sock: connection refused",
       [](Observations& s) {
         s.registry->push_back(
             Silent(Unavailable("connection refused"), Unavailable("connection refused")));
       }},
      {{"drivers.answer bad"},
       "silent.sock: no answer in 1 s",
       [](Observations& s) {
         s.registry->push_back(Silent(OkStatus(), DeadlineExceeded("no answer in 1 s")));
       }},
      {{"drivers.answer bad"},
       "silent.sock: nobody accepts",
       [](Observations& s) {
         s.registry->push_back(
             Silent(DeadlineExceeded("nobody accepts"), DeadlineExceeded("nobody accepts")));
       }},
      {{"drivers.registered bad"},
       "registration does not succeed",
       [](Observations& s) { s.kubelet.plugins->begin()->second.registered = false; }},
      {{"drivers.registered bad"},
       "is unknown to the kubelet",
       [](Observations& s) { s.kubelet.plugins->clear(); }},
      {{"drivers.unique bad", "drivers.instances warning"},
       "gpu.example.com has /k/plugins_registry/gpu.example.com-reg.sock and "
       "/k/plugins_registry/second.sock",
       [](Observations& s) { s.registry->push_back(Second(s, DriverOf(s).endpoint())); }},
      {{"drivers.instances warning"},
       "second.sock",
       [](Observations& s) { s.registry->push_back(Second(s, "/k/plugins/gpu/dra-2.sock")); }},
      {{"drivers.endpoint bad", "slices.orphaned bad", "claims.driver-gone bad"},
       "connection refused",
       [](Observations& s) { DriverOf(s).endpoint_listens = Unavailable("connection refused"); }},
  };
  return kFlaws;
}

const std::vector<Flaw>& VersionFlaws() {
  static const std::vector<Flaw> kFlaws = {
      {{"drivers.service bad"},
       "offers neither",
       [](Observations& s) {
         DriverOf(s).info->versions = {"v1alpha4.DRAPlugin", "v1.DRAResourceHealth",
                                       "v1alpha1.DRAResourceHealth"};
       }},
      {{"drivers.service bad", "kubelet.version bad"},
       "offers v1.DRAPlugin alone, and kubelet v1.33.2 knows v1beta1",
       [](Observations& s) {
         s.api.node->kubelet_version = "v1.33.2";
         DriverOf(s).info->versions = {"v1.DRAPlugin", "v1alpha1.DRAResourceHealth"};
       }},
      {{"drivers.health warning"},
       "offers no DRAResourceHealth",
       [](Observations& s) { DriverOf(s).info->versions = {"v1.DRAPlugin"}; }},
      {{"drivers.health-version warning"},
       "v1 alone, and kubelet v1.36.0 knows v1alpha1",
       [](Observations& s) {
         s.api.node->kubelet_version = "v1.36.0";
         DriverOf(s).info->versions = {"v1.DRAPlugin", "v1.DRAResourceHealth"};
       }},
      {{"drivers.health-version warning"},
       "v1alpha1 alone, which kubelet v1.37.1 takes until 1.39",
       [](Observations& s) {
         DriverOf(s).info->versions = {"v1.DRAPlugin", "v1alpha1.DRAResourceHealth"};
       }},
      {{"drivers.health-version warning"},
       "v1.40.0 no longer knows",
       [](Observations& s) {
         s.api.node->kubelet_version = "v1.40.0";
         s.api.version = *ParseVersion("v1.40.0");
         DriverOf(s).info->versions = {"v1.DRAPlugin", "v1alpha1.DRAResourceHealth"};
       }},
  };
  return kFlaws;
}

TEST(DriverChecks, EachFindsWhatItIsFor) {
  std::vector<Flaw> flaws = SocketFlaws();
  flaws.insert(flaws.end(), VersionFlaws().begin(), VersionFlaws().end());
  ExpectEachIsFound(flaws, DriverChecks());
}

TEST(DriverChecks, ASocketThatWeMayNotOpenIsUnknownAndNeverBad) {
  Observations seen = GoodObservations();
  seen.registry->push_back(
      Silent(PermissionDenied("permission denied"), PermissionDenied("permission denied")));
  EXPECT_THAT(IdsOf(seen, Level::kBad), ::testing::IsEmpty());
  EXPECT_EQ(ResultOf(seen, "drivers.dead-sockets").level, Level::kUnknown);
  EXPECT_EQ(ResultOf(seen, "claims.driver-gone").level, Level::kUnknown);
}

TEST(DriverChecks, AnEntryThatWeMayNotOpenHidesNoFindingOfAnother) {
  Observations seen = GoodObservations();
  seen.registry->push_back(
      Silent(PermissionDenied("permission denied"), PermissionDenied("permission denied")));
  seen.registry->push_back(Silent(Unavailable("refused"), Unavailable("refused")));
  EXPECT_EQ(ResultOf(seen, "drivers.dead-sockets").level, Level::kBad);
}

TEST(DriverChecks, PluginsOfOtherKindsAreAskedOnlyWhoTheyAre) {
  Observations seen = GoodObservations();
  RegistryEntry csi = GoodDriver("csi.example.com");
  csi.info->type = "CSIPlugin";
  csi.info->versions = {"1.0.0"};
  (*seen.kubelet.plugins)[csi.path] = {.wanted = true, .registered = true};
  seen.registry->push_back(csi);
  EXPECT_THAT(Found(seen), ::testing::IsEmpty());
}

TEST(DriverChecks, ARegistryThatIsMissingWhereNoKubeletRunsIsNotKnown) {
  Observations seen = GoodObservations();
  seen.registry = NotFound("list /k: No such file or directory");
  EXPECT_EQ(ResultOf(seen, "drivers.registry").level, Level::kBad);
  seen.kubelet.process = NotFound("no kubelet");
  EXPECT_EQ(ResultOf(seen, "drivers.registry").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::doctor
