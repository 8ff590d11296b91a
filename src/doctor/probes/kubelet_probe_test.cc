#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/files/fake_file_system.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A machine's processes and a kubelet's root, in memory.
struct Machine {
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files.WriteAtomically(path, text, 0600).ok());
  }
  void Start(int pid, std::string command, const std::string& environment = "") {
    for (char& c : command) c = c == ' ' ? '\0' : c;
    const std::string place = kProc + ("/" + std::to_string(pid));
    Write(place + "/cmdline", command + '\0');
    Write(place + "/environ", environment);
    Write(place + "/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max cpu time              unlimited            unlimited            seconds   \n"
          "Max open files            20000                524288               files     \n");
  }
  StatusOr<KubeletProcess> Find(const std::string& node = "node-7",
                                const std::string& root = "/var/lib/kubelet") {
    return FindKubelet(files, kProc, root, node);
  }

  // Namespaces are of the real disk: this place is not on it, so that nothing is known of them.
  static constexpr char kProc[] = "/no-such-directory/proc";

  FakeFileSystem files;
};

// As checkpointmanager writes it.
std::string Checkpoint(const std::string& data) {
  const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size());
  return Json::MakeObject({{"Data", data}, {"Checksum", static_cast<std::int64_t>(sum)}}).Dump();
}

// One claim, as kubelet 1.37.1 wrote it.
constexpr char kState[] =
    R"({"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":)"
    R"([{"ClaimUID":"9cffff71","ClaimName":"holder-device","Namespace":"default","PodUIDs":{"8a2d":{}},)"
    R"("DriverState":{"ref.example.com":{"Devices":[{"PoolName":"node-1","DeviceName":"dev-0",)"
    R"("ShareID":null,"RequestNames":["main"],"CDIDeviceIDs":["ref.example.com/test=9c-dev-0"]}]}}}]})";

TEST(KubeletProbe, TheKubeletIsFoundAmongTheProcesses) {
  Machine machine;
  machine.Start(1, "/sbin/init");
  machine.Start(812, "/usr/bin/kubelet --config=/k.yaml --v=2",
                std::string("A=b\0WATCHDOG_USEC=30000000", 26));
  machine.Start(900, "vim kubelet");
  const StatusOr<KubeletProcess> kubelet = machine.Find();
  ASSERT_TRUE(kubelet.ok()) << kubelet.status().message();
  EXPECT_EQ(kubelet->pid, 812);
  EXPECT_EQ(*kubelet->open_files, 20'000);
  EXPECT_EQ(*kubelet->watchdog, std::optional<Duration>(30s));
}

TEST(KubeletProbe, AKubeletThatIsAPartOfAProgramIsOneToo) {
  Machine machine;
  machine.Start(7, "/cache/kube kubelet --hostname-override=node-7");
  machine.Start(8, "/cache/kube apiserver --etcd-servers=x");
  ASSERT_TRUE(machine.Find().ok());
  EXPECT_EQ(machine.Find()->pid, 7);
  EXPECT_FALSE((*machine.Find()->watchdog).has_value());
}

TEST(KubeletProbe, OfSeveralTheOneOfTheNodeIsTaken) {
  Machine machine;
  machine.Start(7, "/cache/kube kubelet --hostname-override=node-7");
  machine.Start(8, "/cache/kube kubelet --hostname-override node-8");
  EXPECT_EQ(machine.Find("node-8")->pid, 8);
  EXPECT_EQ(machine.Find("node-9").status().code(), Code::kFailedPrecondition);
}

TEST(KubeletProbe, WhereNoKubeletIsSeenThereIsNone) {
  Machine machine;
  machine.Start(1, "/usr/bin/galen-agent");
  EXPECT_EQ(machine.Find().status().code(), Code::kNotFound);
}

TEST(KubeletProbe, AKubeletWithAnotherRootIsAnotherNodes) {
  Machine machine;
  machine.Start(7, "kubelet --root-dir=/one/");
  machine.Start(8, "kubelet --root-dir /two");
  EXPECT_EQ(machine.Find("node-7", "/one")->pid, 7);
  EXPECT_EQ(machine.Find("node-7", "/two")->pid, 8);
  const Status none = machine.Find().status();
  EXPECT_EQ(none.code(), Code::kNotFound) << "neither is that of the default root";
  EXPECT_THAT(none.message(), HasSubstr("/var/lib/kubelet"));
  machine.Start(9, "kubelet --v=2");
  EXPECT_EQ(machine.Find()->pid, 9) << "who names no root has the default";
}

// Two kubelets that call their roots by the same name, each in a mount namespace of its own: a
// directory below which PID/root leads.
TEST(KubeletProbe, ItsRootIsSeenThroughItsMountNamespace) {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  PosixFileSystem files;
  for (const std::string pid : {"7", "8"}) {
    fs::create_directories(directory.Path("proc/" + pid));
    std::ofstream(directory.Path("proc/" + pid + "/cmdline")) << std::string("kubelet\0--v=2", 13);
    fs::create_directories(directory.Path("mounts-" + pid + "/var/lib"));
    fs::create_directories(directory.Path("node-" + pid + "/plugins_registry"));
    // As a bind mount would have it.
    fs::create_symlink(directory.Path("node-" + pid),
                       directory.Path("mounts-" + pid + "/var/lib/kubelet"));
    fs::create_symlink(directory.Path("mounts-" + pid), directory.Path("proc/" + pid + "/root"));
  }
  const auto find = [&](const std::string& root) {
    return FindKubelet(files, directory.Path("proc"), root, "node-7");
  };
  EXPECT_EQ(find(directory.Path("node-7"))->pid, 7);
  EXPECT_EQ(find(directory.Path("node-8"))->pid, 8);
  EXPECT_EQ(find(directory.Path("node-9")).status().code(), Code::kNotFound);
  EXPECT_EQ(find("/no-such-directory/kubelet").status().code(), Code::kNotFound);
  // A Pod with the registry alone.
  fs::create_directories(directory.Path("pod"));
  fs::create_symlink(directory.Path("node-8/plugins_registry"),
                     directory.Path("pod/plugins_registry"));
  EXPECT_EQ(find(directory.Path("pod"))->pid, 8);
}

TEST(KubeletProbe, GatesAreThoseOfItsFileAndItsCommandLine) {
  Machine machine;
  machine.Start(812, "kubelet --config=/etc/k.yaml --feature-gates=B=false,C=true");
  machine.Write("/etc/k.yaml", "kind: KubeletConfiguration\nfeatureGates: {A: true, B: true}\n");
  const StatusOr<Gates> gates = ReadConfiguredGates(machine.files, machine.Find(), "/k");
  ASSERT_TRUE(gates.ok()) << gates.status().message();
  EXPECT_EQ(gates->values, (std::map<std::string, bool>{{"A", true}, {"B", false}, {"C", true}}));
  EXPECT_EQ(gates->source, "/etc/k.yaml");
  EXPECT_FALSE(gates->complete);
}

TEST(KubeletProbe, AFileThatMayNotBeReadHidesTheGatesThatNoFlagNames) {
  Machine machine;
  machine.Start(812, "kubelet --config=/etc/hidden.yaml --feature-gates=B=false");
  const StatusOr<Gates> gates = ReadConfiguredGates(machine.files, machine.Find(), "/k");
  ASSERT_TRUE(gates.ok()) << gates.status().message();
  EXPECT_EQ(gates->values, (std::map<std::string, bool>{{"B", false}}));
  EXPECT_TRUE(gates->complete);
  EXPECT_THAT(gates->source, HasSubstr("/etc/hidden.yaml"));
}

TEST(KubeletProbe, WithoutAFileTheCommandLineIsAllThereIs) {
  Machine machine;
  machine.Start(812, "kubelet --feature-gates=B=false");
  const StatusOr<Gates> gates = ReadConfiguredGates(machine.files, machine.Find(), "/k");
  ASSERT_TRUE(gates.ok()) << gates.status().message();
  EXPECT_FALSE(gates->complete);
  EXPECT_EQ(gates->source, "the kubelet's command line");
}

TEST(KubeletProbe, WithoutAProcessTheFileIsWhereKubeadmPutsIt) {
  Machine machine;
  EXPECT_FALSE(ReadConfiguredGates(machine.files, {}, "/k").ok());
  machine.Write("/k/config.yaml", "featureGates: {A: false}\n");
  EXPECT_EQ(ReadConfiguredGates(machine.files, {}, "/k")->values.at("A"), false);
  machine.Write("/k/config.yaml", "featureGates: {A: [}\n");
  EXPECT_THAT(ReadConfiguredGates(machine.files, {}, "/k").status().message(),
              HasSubstr("/k/config.yaml"));
}

TEST(KubeletProbe, PreparedClaimsAreReadFromTheCheckpoint) {
  Machine machine;
  machine.Write("/k/dra_manager_state", Checkpoint(kState));
  const StatusOr<std::vector<CheckpointedClaim>> claims = ReadPreparedClaims(machine.files, "/k");
  ASSERT_TRUE(claims.ok()) << claims.status().message();
  ASSERT_THAT(*claims, SizeIs(1));
  EXPECT_EQ((*claims)[0].key, (ObjectKey{"default", "holder-device"}));
  EXPECT_EQ((*claims)[0].uid, "9cffff71");
  EXPECT_THAT((*claims)[0].drivers, ElementsAre("ref.example.com"));
  EXPECT_THAT((*claims)[0].cdi_ids, ElementsAre("ref.example.com/test=9c-dev-0"));
}

TEST(KubeletProbe, ACheckpointWithoutClaimsHasNone) {
  Machine machine;
  machine.Write("/k/dra_manager_state", Checkpoint(R"({"ClaimInfoStateList":null})"));
  EXPECT_THAT(*ReadPreparedClaims(machine.files, "/k"), IsEmpty());
  EXPECT_EQ(ReadPreparedClaims(machine.files, "/other").status().code(), Code::kNotFound);
}

TEST(KubeletProbe, ABrokenCheckpointIsDataLossThatNamesTheFile) {
  const std::string good = Checkpoint(kState);
  std::string flipped = good;
  flipped[flipped.find("holder")] = 'H';
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{}"), flipped, good.substr(0, 80),
        Checkpoint("no json"), Checkpoint(R"({"ClaimInfoStateList":[{}]})")}) {
    Machine machine;
    machine.Write("/k/dra_manager_state", text);
    const Status status = ReadPreparedClaims(machine.files, "/k").status();
    EXPECT_EQ(status.code(), Code::kDataLoss) << text;
    EXPECT_THAT(status.message(), HasSubstr("/k/dra_manager_state"));
  }
}

}  // namespace
}  // namespace galen::doctor
