// A real driver's device plugin against libgrpc++ in the kubelet's part: the driver's own thread,
// sockets and files; libgrpc++ in threads of its own.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/files/test_temporary_directory.h"
#include "galen/driver.h"
#include "model/cdi_spec.h"
#include "protos/deviceplugin/v1beta1/deviceplugin.grpc.pb.h"

namespace galen {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// What must come within a while, on a machine that does other things too.
constexpr auto kPatience = 60s;

// The kubelet's device manager with libgrpc++: a registration is answered after the plugin was
// dialled, its list is read on a thread.
class TheirKubelet final : public v1beta1::Registration::Service {
 public:
  explicit TheirKubelet(std::string directory) : directory_(std::move(directory)) {}
  ~TheirKubelet() override { Stop(); }

  // As a kubelet starts: sockets of former times go.
  void Start() {
    fs::create_directories(directory_);
    for (const auto& entry : fs::directory_iterator(directory_)) fs::remove(entry.path());
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + directory_ + "/kubelet.sock",
                             grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  void Stop() {
    if (!server_) return;
    {
      const std::lock_guard lock(mutex_);
      for (auto& context : contexts_) context->TryCancel();
    }
    server_->Shutdown(std::chrono::system_clock::now());
    for (std::thread& reader : readers_) reader.join();
    readers_.clear();
    contexts_.clear();
    server_.reset();
  }

  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    auto plugin = Dial(request->endpoint());
    grpc::ClientContext context;
    v1beta1::DevicePluginOptions options;
    if (auto status = plugin->GetDevicePluginOptions(&context, {}, &options); !status.ok()) {
      return status;
    }
    const std::lock_guard lock(mutex_);
    registrations_.push_back(request->resource_name());
    contexts_.push_back(std::make_unique<grpc::ClientContext>());
    readers_.emplace_back([this, plugin = std::move(plugin), stream = contexts_.back().get()] {
      const auto lists = plugin->ListAndWatch(stream, {});
      v1beta1::ListAndWatchResponse list;
      while (lists->Read(&list)) Take(list);
      lists->Finish();
    });
    return grpc::Status::OK;
  }

  // Waits until `holds` of the last list ("fpga-0 Healthy, …") and the number of registrations.
  bool Until(const std::function<bool(const std::string& list, std::size_t registered)>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return holds(list_, registrations_.size()); });
  }
  std::unique_ptr<v1beta1::DevicePlugin::Stub> Dial(const std::string& endpoint) const {
    return v1beta1::DevicePlugin::NewStub(grpc::CreateChannel("unix:" + directory_ + "/" + endpoint,
                                                              grpc::InsecureChannelCredentials()));
  }

 private:
  void Take(const v1beta1::ListAndWatchResponse& list) {
    std::string text;
    for (const v1beta1::Device& device : list.devices()) {
      text += (text.empty() ? "" : ", ") + device.id() + " " + device.health();
      for (const v1beta1::NUMANode& node : device.topology().nodes()) {
        text += " on " + std::to_string(node.id());
      }
    }
    const std::lock_guard lock(mutex_);
    list_ = std::move(text);
    changed_.notify_all();
  }

  const std::string directory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> registrations_;
  std::string list_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::thread> readers_;
  std::unique_ptr<grpc::Server> server_;
};

class PluginInteropTest : public ::testing::Test {
 protected:
  PluginInteropTest() {
    // An API server that is away: a device plugin needs none.
    std::ofstream(directory_.Path("kubeconfig"))
        << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
           "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
           "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\n"
           "users: [{name: u, user: {}}]\n";
    kubelet_.Start();
    driver_ = std::make_unique<Driver>(Driver::Options{
        .name = "fpga.example.com",
        .node = "node-7",
        .kubelet_root = directory_.Path("k"),
        .cdi_root = directory_.Path("cdi"),
        .kubeconfig = directory_.Path("kubeconfig"),
        .log_level = "error",
        .device_plugin = {.resource = "example.com/fpga"},
        .handle_signals = false,
    });
    driver_->Publish({{.name = "fpga-0", .attributes = {{"numaNode", std::int64_t{0}}}},
                      {.name = "fpga-1", .attributes = {{"numaNode", std::int64_t{1}}}},
                      {.name = "fpga-2", .attributes = {{"numaNode", std::int64_t{1}}}}});
    driver_->OnDeviceEdits([](const std::string& device) -> DeviceEdits {
      if (device == "fpga-2") throw std::runtime_error("no firmware");
      return CdiEdits{.env = {"FPGA=" + device}};
    });
    driver_->OnHealth(1h, [this](HealthWriter& health) {
      health.Healthy("fpga-0");
      link_down_ ? health.Unhealthy("fpga-1", {"LinkDown", "QSFP link down"})
                 : health.Healthy("fpga-1");
      health.Unknown("fpga-2", {"NoAnswer", "the probe does not answer"});
    });
    running_ = std::thread([this] { driver_->Run(); });
  }
  ~PluginInteropTest() override {
    driver_->Stop();
    running_.join();
    kubelet_.Stop();
  }

  std::unique_ptr<v1beta1::DevicePlugin::Stub> Dial() {
    return kubelet_.Dial("fpga.example.com.sock");
  }

  TemporaryDirectory directory_;
  TheirKubelet kubelet_{directory_.Path("k/device-plugins")};
  std::atomic<bool> link_down_ = false;
  std::unique_ptr<Driver> driver_;
  std::thread running_;
};

constexpr char kWell[] = "fpga-0 Healthy on 0, fpga-1 Healthy on 1, fpga-2 Healthy on 1";

TEST_F(PluginInteropTest, RegistersListsAndGivesDevicesOut) {
  ASSERT_TRUE(kubelet_.Until([](const auto& list, auto) { return list == kWell; }));
  link_down_ = true;
  driver_->HealthChanged();
  ASSERT_TRUE(kubelet_.Until([](const auto& list, auto) {
    return list == "fpga-0 Healthy on 0, fpga-1 Unhealthy on 1, fpga-2 Healthy on 1";
  }));
  const auto plugin = Dial();
  const auto allocate = [&](const std::string& device, v1beta1::AllocateResponse& response) {
    grpc::ClientContext context;
    v1beta1::AllocateRequest request;
    request.add_container_requests()->add_devices_ids(device);
    return plugin->Allocate(&context, request, &response);
  };
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(allocate("fpga-0", response).ok());
  const std::string name = response.container_responses(0).cdi_devices(0).name();
  EXPECT_EQ(name, "fpga.example.com/device=fpga-0");
  const grpc::Status unhealthy = allocate("fpga-1", response);
  EXPECT_EQ(unhealthy.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(unhealthy.error_message(), HasSubstr("QSFP link down"));
  EXPECT_EQ(allocate("fpga-7", response).error_code(), grpc::StatusCode::NOT_FOUND);
  const grpc::Status thrown = allocate("fpga-2", response);
  EXPECT_EQ(thrown.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(thrown.error_message(), HasSubstr("no firmware"));

  grpc::ClientContext context;
  v1beta1::PreferredAllocationRequest prefer;
  auto& container = *prefer.add_container_requests();
  for (const char* id : {"fpga-0", "fpga-1", "fpga-2"}) container.add_available_deviceids(id);
  container.set_allocation_size(2);
  v1beta1::PreferredAllocationResponse preferred;
  ASSERT_TRUE(plugin->GetPreferredAllocation(&context, prefer, &preferred).ok());
  EXPECT_THAT(preferred.container_responses(0).deviceids(), ElementsAre("fpga-1", "fpga-2"));

  std::ifstream file(directory_.Path("cdi/fpga.example.com-device.json"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(ReadCdiSpec("x.json", text).devices, ElementsAre("fpga-0", "fpga-1"));
}

TEST_F(PluginInteropTest, AKubeletThatStartsAgainIsToldAgain) {
  ASSERT_TRUE(kubelet_.Until([](const auto& list, auto) { return list == kWell; }));
  for (std::size_t times = 2; times <= 3; ++times) {
    kubelet_.Stop();
    kubelet_.Start();
    ASSERT_TRUE(kubelet_.Until([&](const auto&, auto registered) { return registered >= times; }));
  }
}

}  // namespace
}  // namespace galen
