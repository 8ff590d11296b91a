// Our own SDK's drivers are held to what others are held to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_boot_id.h"
#include "conformance/fake_observations.h"
#include "conformance/fake_scene.h"
#include "net/endpoint/fake_socket_host.h"
#include "sdk/app/driver_app.h"

namespace galen::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OwnDriver, PassesEveryCheckThatThereIs) {
  FakeScene scene;
  FakeBoot(scene.files, "boot-1");
  Metrics metrics;
  net::FakeSocketHost sockets(scene.loop, scene.network);
  sdk::DriverApp::Handlers handlers;
  handlers.prepare = [](const DeviceClaim&) { return CdiEdits{.env = {"GPU=0"}}; };
  handlers.health = [](HealthWriter& health) {
    health.Healthy("gpu-0");
    health.Unhealthy("gpu-1", {"LinkDown", "QSFP link down"});
  };
  Driver::Options options{
      .name = "gpu.example.com", .node = "node-7", .kubelet_root = "/k", .cdi_root = "/cdi"};
  auto app = sdk::DriverApp::Create(
      {scene.loop, NullLog(), metrics, scene.random, scene.files, sockets, scene.client}, options,
      std::move(handlers));
  ASSERT_TRUE(app.ok());
  ASSERT_TRUE((*app)->Publish({{.name = "gpu-0"}, {.name = "gpu-1"}}).ok());
  ASSERT_TRUE((*app)->Start().ok());
  scene.loop.Advance(std::chrono::seconds(1));

  const Observations seen = scene.Run();
  EXPECT_THAT(Failures(seen), IsEmpty());
  // It repeats itself within half of 30 s, and two reports are too few to judge messages.
  EXPECT_THAT(IdsOf(seen, Level::kUnknown),
              ElementsAre("health.announced", "health.message-rests"));
}

}  // namespace
}  // namespace galen::conformance
