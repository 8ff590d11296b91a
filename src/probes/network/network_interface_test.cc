#include "probes/network/network_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A tree of text files as sysfs shows it.
class NetworkProbeTest : public ::testing::Test {
 protected:
  NetworkProbeTest() {
    EXPECT_TRUE(files_.MakeDirectories("/sys/class/net", 0755).ok());
    AddInterface("lo");
    AddInterface("eth0");
    Write("eth0", "device/uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:3b:00.0\n");
  }

  void Write(const std::string& interface, const std::string& file, const std::string& text) {
    const std::string path = "/sys/class/net/" + interface + "/" + file;
    EXPECT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    EXPECT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  }
  void AddInterface(const std::string& name) {
    Write(name, "flags", "0x1003\n");
    Write(name, "address", "02:00:00:00:00:01\n");
    Write(name, "carrier", "1\n");
    Write(name, "operstate", "up\n");
    Write(name, "speed", "100000\n");
    Write(name, "carrier_changes", "2\n");
    for (const char* counter : {"rx_errors", "rx_crc_errors", "tx_errors"}) {
      Write(name, std::string("statistics/") + counter, "0\n");
    }
  }
  void RemoveInterface(const std::string& name) {
    for (const char* file : {"flags", "address", "carrier", "operstate", "speed", "carrier_changes",
                             "statistics/rx_errors", "statistics/rx_crc_errors",
                             "statistics/tx_errors", "device/uevent"}) {
      EXPECT_TRUE(files_.Remove("/sys/class/net/" + name + "/" + file).ok());
    }
  }
  NetworkProbe Probe(std::vector<std::string> patterns) {
    return NetworkProbe(loop_, files_, {.patterns = std::move(patterns)});
  }
  std::map<std::string, Sign> Signs(NetworkProbe& probe) {
    std::map<std::string, Sign> by_name;
    const std::vector<Sign> signs = *probe.Observe();
    for (const Sign& sign : signs) by_name[sign.name] = sign;
    return by_name;
  }

  FakeLoop loop_;
  FakeFileSystem files_;
};

TEST_F(NetworkProbeTest, FindsTheInterfacesThatThePatternsMean) {
  AddInterface("veth1");
  AddInterface("wlan0");
  NetworkProbe probe = Probe({"eth*", "veth?"});
  const auto found = probe.Discover();
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(*found, ElementsAre(Field(&NetworkInterface::interface, "eth0"),
                                  Field(&NetworkInterface::interface, "veth1")));
  EXPECT_EQ(found->front().pci_address, "0000:3b:00.0");
  EXPECT_EQ(found->front().driver, "mlx5_core");
  EXPECT_EQ(found->front().address, "02:00:00:00:00:01");
  EXPECT_EQ(found->back().pci_address, "") << "a veth has no hardware";
}

TEST_F(NetworkProbeTest, ACardsAddressIsTheOneThatItWasMadeWithWhereThatIsKnown) {
  AddInterface("eth1");
  Write("eth1", "bonding_slave/perm_hwaddr", "02:00:00:00:00:0b\n");
  std::map<std::string, std::string> made_with, asked;
  NetworkProbe probe(loop_, files_,
                     {.patterns = {"eth*"},
                      .permanent_address = [&](const std::string& name, const std::string& now) {
                        asked[name] = now;
                        return made_with[name];
                      }});
  made_with["eth0"] = "02:00:00:00:00:0a";
  const auto found = probe.Discover();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->front().address, "02:00:00:00:00:0a");
  EXPECT_EQ(found->back().address, "02:00:00:00:00:0b") << "unknown: as before";
  EXPECT_EQ(asked["eth0"], "02:00:00:00:00:01");
  EXPECT_EQ(asked["eth1"], "02:00:00:00:00:01") << "the bond's, which the kernel shows too";
}

TEST_F(NetworkProbeTest, NeverMeansTheLoopback) {
  NetworkProbe probe = Probe({"*"});
  EXPECT_THAT(*probe.Discover(), ElementsAre(Field(&NetworkInterface::interface, "eth0")));
}

TEST_F(NetworkProbeTest, MakesNamesThatKubernetesTakes) {
  AddInterface("eth0.1");
  AddInterface("eth0_1");
  NetworkProbe probe = Probe({"eth0?1"});
  EXPECT_EQ(probe.Discover()->size(), 1u) << "one name is one device";
}

TEST_F(NetworkProbeTest, ReadsCarrierSpeedAndCounters) {
  Write("eth0", "statistics/rx_crc_errors", "17\n");
  NetworkProbe probe = Probe({"eth0"});
  const auto signs = Signs(probe);
  EXPECT_EQ(NumberOf(signs.at("present")), 1);
  EXPECT_EQ(NumberOf(signs.at("admin-up")), 1);
  EXPECT_EQ(NumberOf(signs.at("carrier")), 1);
  EXPECT_EQ(NumberOf(signs.at("speed")), 100000);
  EXPECT_EQ(NumberOf(signs.at("carrier-changes")), 2);
  EXPECT_EQ(NumberOf(signs.at("rx-crc-errors")), 17);
  EXPECT_EQ(signs.at("carrier").device, "eth0");
  EXPECT_EQ(signs.at("carrier").time, loop_.WallNow());
}

TEST_F(NetworkProbeTest, ALostCarrierSaysInWhichStateTheLinkIs) {
  Write("eth0", "carrier", "0\n");
  Write("eth0", "operstate", "lowerlayerdown\n");
  NetworkProbe probe = Probe({"eth0"});
  const auto signs = Signs(probe);
  EXPECT_EQ(NumberOf(signs.at("carrier")), 0);
  EXPECT_EQ(signs.at("carrier").raw, "sysfs: eth0 has no carrier, operstate lowerlayerdown");
  EXPECT_FALSE(signs.contains("speed")) << "the speed of a dead link means nothing";
}

TEST_F(NetworkProbeTest, AnInterfaceThatIsOffIsNotAskedForItsCarrier) {
  Write("eth0", "flags", "0x1002\n");
  NetworkProbe probe = Probe({"eth0"});
  const auto signs = Signs(probe);
  EXPECT_EQ(NumberOf(signs.at("admin-up")), 0);
  EXPECT_FALSE(signs.contains("carrier"));
}

TEST_F(NetworkProbeTest, AVirtualCardWithoutASpeedIsNotAtFault) {
  for (const char* speed : {"-1\n", "0\n", "\n", "unknown\n"}) {
    Write("eth0", "speed", speed);
    NetworkProbe probe = Probe({"eth0"});
    EXPECT_FALSE(Signs(probe).contains("speed")) << speed;
  }
}

TEST_F(NetworkProbeTest, WhatCannotBeReadOrUnderstoodIsAnErrorAndNoValue) {
  Write("eth0", "carrier", "maybe\x1b\n");
  Write("eth0", "statistics/tx_errors", "");
  NetworkProbe probe = Probe({"eth0"});
  const auto signs = Signs(probe);
  EXPECT_THAT(signs.at("carrier").error, HasSubstr("is not a number"));
  EXPECT_EQ(signs.at("carrier").error.find('\x1b'), std::string::npos);
  EXPECT_NE(signs.at("tx-errors").error, "");
  EXPECT_EQ(signs.at("rx-errors").error, "");
}

TEST_F(NetworkProbeTest, AnInterfaceThatIsGoneStaysInSight) {
  NetworkProbe probe = Probe({"eth0"});
  ASSERT_TRUE(probe.Observe().ok());
  RemoveInterface("eth0");
  const auto signs = Signs(probe);
  EXPECT_EQ(signs.size(), 1u);
  EXPECT_EQ(NumberOf(signs.at("present")), 0);
}

TEST_F(NetworkProbeTest, AnotherCardUnderTheSameNameHasItsOwnAddress) {
  NetworkProbe probe = Probe({"eth*"});
  ASSERT_TRUE(probe.Observe().ok());
  RemoveInterface("eth0");
  ASSERT_TRUE(probe.Observe().ok());
  AddInterface("eth0");
  Write("eth0", "address", "02:00:00:00:00:99\n");
  ASSERT_TRUE(probe.Observe().ok());
  EXPECT_EQ(probe.Discover()->at(0).address, "02:00:00:00:00:99");
}

TEST_F(NetworkProbeTest, AnInterfaceThatIsBackShowsNothingBeforeItIsDescribedAnew) {
  NetworkProbe probe = Probe({"eth*"});
  ASSERT_TRUE(probe.Observe().ok());
  RemoveInterface("eth0");
  EXPECT_EQ(probe.ObserveSome({"eth0"}).size(), 1U);
  EXPECT_TRUE(probe.IsAbsent("eth0"));
  AddInterface("eth0");
  EXPECT_THAT(probe.ObserveSome({"eth0"}), IsEmpty());
  ASSERT_TRUE(probe.Discover().ok());
  EXPECT_FALSE(probe.IsAbsent("eth0"));
  EXPECT_GT(probe.ObserveSome({"eth0"}).size(), 1U);
}

TEST_F(NetworkProbeTest, ACardInABondHasItsOwnAddress) {
  Write("eth0", "bonding_slave/perm_hwaddr", "02:00:00:00:00:77\n");
  EXPECT_EQ(Probe({"eth*"}).Discover()->at(0).address, "02:00:00:00:00:77");
}

TEST_F(NetworkProbeTest, InterfacesThatAreGoneMakeRoomForNewOnes) {
  NetworkProbe probe = Probe({"veth*"});
  for (std::size_t i = 0; i < NetworkProbe::kInterfacesMax; ++i) {
    AddInterface("veth" + std::to_string(i));
  }
  ASSERT_TRUE(probe.Observe().ok());
  AddInterface("vethnew");
  ASSERT_TRUE(probe.Observe().ok());
  EXPECT_FALSE(probe.interfaces().contains("vethnew")) << "nobody went, so there is no room";
  ASSERT_TRUE(files_.Remove("/sys/class/net/veth7/flags").ok());
  ASSERT_TRUE(probe.Observe().ok());
  ASSERT_TRUE(probe.Observe().ok());
  EXPECT_TRUE(probe.interfaces().contains("vethnew"));
  EXPECT_FALSE(probe.interfaces().contains("veth7"));
}

TEST_F(NetworkProbeTest, ANewInterfaceIsFoundByTheNextLook) {
  NetworkProbe probe = Probe({"veth*"});
  EXPECT_THAT(*probe.Observe(), IsEmpty());
  AddInterface("veth7");
  EXPECT_EQ(Signs(probe).at("present").device, "veth7");
}

TEST_F(NetworkProbeTest, LooksAtSomeInterfacesOnly) {
  AddInterface("eth1");
  NetworkProbe probe = Probe({"eth*"});
  ASSERT_TRUE(probe.Observe().ok());
  for (const Sign& sign : probe.ObserveSome({"eth1", "eth1", "wlan0"})) {
    EXPECT_EQ(sign.device, "eth1");
  }
  EXPECT_THAT(probe.ObserveSome({"wlan0"}), IsEmpty());
}

TEST_F(NetworkProbeTest, WithoutSysfsNothingIsClaimed) {
  NetworkProbe probe(loop_, files_, {.sysfs_root = "/nowhere", .patterns = {"*"}});
  EXPECT_FALSE(probe.Observe().ok());
}

}  // namespace
}  // namespace galen::probes
