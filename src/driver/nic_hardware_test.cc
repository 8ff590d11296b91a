// Cards behind their interfaces' names; the rest is tested by device_driver_test.cc.
#include <gtest/gtest.h>

#include <map>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "driver/device_driver.h"
#include "driver/hardware.h"

namespace galen::device_driver {
namespace {

using namespace std::chrono_literals;

// What is said last of each interface: "Healthy", or the code of what is wrong.
struct SaidOfLinks final : HealthWriter {
  using HealthWriter::Healthy;
  void Healthy(std::string_view device, HealthCause) override { Say(device, "Healthy"); }
  void Unhealthy(std::string_view device, HealthCause cause) override { Say(device, cause.code); }
  void Degraded(std::string_view device, double, HealthCause cause) override {
    Say(device, cause.code);
  }
  void Unknown(std::string_view device, HealthCause cause) override { Say(device, cause.code); }
  void Timeout(std::string_view, std::chrono::seconds) override {}
  void Say(std::string_view device, const std::string& what) { of[std::string(device)] = what; }

  std::map<std::string, std::string> of;
};

// A driver of eth7, and the disk that outlives it.
class NicHardwareTest : public ::testing::Test {
 protected:
  NicHardwareTest() {
    config_.kind = Kind::kNic;
    EXPECT_TRUE(files_.MakeDirectories("/state", 0755).ok());
    rules_ = *LoadRules(files_, config_);
  }
  void Start() {
    metrics_ = std::make_unique<Metrics>();
    state_ =
        std::make_unique<probes::StateFile>(probes::StateFile::Parts{loop_, NullLog(), files_},
                                            std::make_unique<FakeDiskQueue>(), "/state/s", "boot");
    state_->Load();
    hardware_ = std::make_unique<NicHardware>(
        loop_, files_,
        probes::NetworkProbe::Options{
            .patterns = {"eth*"},
            .permanent_address = [this](const auto&, const auto&) { return made_with_; }},
        [this](NicHardware::LinkNews news) {
          link_news_ = std::move(news);
          return OkStatus();
        });
    driver_ = std::make_unique<DeviceDriver>(
        Edges{loop_, NullLog(), *metrics_, *state_, rules_}, *hardware_,
        DeviceDriver::Calls{.publish = [](const Inventory&) { return std::nullopt; },
                            .health_changed = [this] { due_ = true; }},
        config_);
    ASSERT_EQ(driver_->Start(), OkStatus());
    Look();
  }
  void Look() { driver_->Report(said_); }
  // Time passes, with a round each poll, and when one is asked for.
  std::string After(Duration wait) {
    for (Duration passed{}; passed < wait; passed += 100ms) {
      loop_.Advance(100ms);
      if (std::exchange(due_, false) || passed % config_.poll == 0s) Look();
    }
    return said_.of["eth7"];
  }
  void Write(const std::string& file, const std::string& text) {
    const std::string path = "/sys/class/net/eth7/" + file;
    EXPECT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    EXPECT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  }
  void Plug(const std::string& mac, const std::string& speed) {
    Write("flags", "0x1003\n");
    Write("address", mac + "\n");
    Write("carrier", "1\n");
    Write("carrier_changes", "0\n");
    Write("speed", speed + "\n");
    for (const char* counter : {"rx_errors", "rx_crc_errors", "tx_errors"}) {
      Write(std::string("statistics/") + counter, "0\n");
    }
  }
  void Unplug() {
    for (const char* file : {"flags", "address", "carrier", "speed"}) {
      EXPECT_TRUE(files_.Remove(std::string("/sys/class/net/eth7/") + file).ok());
    }
  }

  // A card of 100 Gb/s that a driver saw, which then ended.
  void RunAndLoseDriver(const std::string& mac) {
    Plug(mac, "100000");
    Start();
    EXPECT_EQ(After(2 * config_.poll), "Healthy");
    driver_.reset();
  }
  // What the next driver says of a card of 25 Gb/s in its place.
  std::string SlowAfterRestart(const std::string& mac) {
    Plug(mac, "25000");
    Start();
    return After(20s);
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  std::unique_ptr<Metrics> metrics_;
  DriverConfig config_;
  probes::RuleTable rules_;
  std::unique_ptr<probes::StateFile> state_;
  std::unique_ptr<NicHardware> hardware_;
  NicHardware::LinkNews link_news_;
  std::unique_ptr<DeviceDriver> driver_;
  SaidOfLinks said_;
  bool due_ = false;
  std::string made_with_;  // the address of the card in eth7, where the kernel knows it
};

TEST_F(NicHardwareTest, LinkNewsThatWereLostMakeItLookAtAll) {
  Plug("02:00:00:00:00:01", "100000");
  Start();
  EXPECT_EQ(After(100ms), "Healthy");
  Write("carrier", "0\n");
  link_news_({});
  EXPECT_EQ(After(100ms), "LinkDown");
}

TEST_F(NicHardwareTest, ACardIsJudgedByItsOwnBestSpeed) {
  Plug("02:00:00:00:00:01", "100000");
  Start();
  Unplug();
  EXPECT_EQ(After(2 * config_.poll), "InterfaceGone");
  Plug("02:00:00:00:00:01", "25000");
  EXPECT_EQ(After(20s), "LinkSpeedReduced");
}

TEST_F(NicHardwareTest, AnotherCardOfItsNameIsNotJudgedByItsPredecessorsBestSpeed) {
  Plug("02:00:00:00:00:01", "100000");
  Start();
  Unplug();
  EXPECT_EQ(After(2 * config_.poll), "InterfaceGone");
  Plug("02:00:00:00:00:02", "25000");
  EXPECT_EQ(After(20s), "Healthy");
}

TEST_F(NicHardwareTest, AnotherCardThatLinkNewsBringIsLookedAtBeforeItIsJudged) {
  Plug("02:00:00:00:00:01", "100000");
  Start();
  Unplug();
  link_news_({"eth7"});
  EXPECT_EQ(After(100ms), "InterfaceGone");
  Plug("02:00:00:00:00:02", "25000");
  link_news_({"eth7"});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(After(100ms), "Healthy");
}

TEST_F(NicHardwareTest, ACardThatTookTheNameWhileNoDriverRanBeginsAnew) {
  RunAndLoseDriver("02:00:00:00:00:01");
  EXPECT_EQ(SlowAfterRestart("02:00:00:00:00:02"), "Healthy");
}

TEST_F(NicHardwareTest, ACardKeepsItsBestSpeedOverARestart) {
  RunAndLoseDriver("02:00:00:00:00:01");
  EXPECT_EQ(SlowAfterRestart("02:00:00:00:00:01"), "LinkSpeedReduced");
}

TEST_F(NicHardwareTest, ACardWhoseAddressWasSetWhileNoDriverRanIsTheSameCard) {
  made_with_ = "02:00:00:00:00:0a";
  RunAndLoseDriver("02:00:00:00:00:01");
  EXPECT_EQ(SlowAfterRestart("02:00:00:00:00:02"), "LinkSpeedReduced");
}

TEST_F(NicHardwareTest, AnotherCardThatWasGivenTheAddressOfTheOneBeforeBeginsAnew) {
  made_with_ = "02:00:00:00:00:0a";
  RunAndLoseDriver("02:00:00:00:00:01");
  made_with_ = "02:00:00:00:00:0b";
  EXPECT_EQ(SlowAfterRestart("02:00:00:00:00:01"), "Healthy");
}

}  // namespace
}  // namespace galen::device_driver
