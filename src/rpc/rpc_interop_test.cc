// Our gRPC against libgrpc++, both ways: what the kubelet's library family and we say must agree.
// libgrpc++'s side runs in threads of its own; ours on one loop.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "base/files/test_temporary_directory.h"
#include "net/endpoint/server.h"
#include "net/test_loop_runner.h"
#include "protos/dra_health/v1/health.grpc.pb.h"
#include "protos/pluginregistration/v1/registration.grpc.pb.h"
#include "rpc/newest_stream.h"
#include "rpc/typed.h"

namespace galen::rpc {
namespace {

using namespace std::chrono_literals;
using pluginregistration::InfoRequest;
using pluginregistration::PluginInfo;
using pluginregistration::Registration;
using pluginregistration::RegistrationStatus;
using pluginregistration::RegistrationStatusResponse;
using v1::DRAResourceHealth;
using v1::NodeWatchResourcesRequest;
using v1::NodeWatchResourcesResponse;

constexpr const char* kGetInfo = "/pluginregistration.Registration/GetInfo";
constexpr const char* kNotify = "/pluginregistration.Registration/NotifyRegistrationStatus";
constexpr const char* kWatch = "/v1.DRAResourceHealth/NodeWatchResources";
constexpr const char* kOddText = "no \"gpu-0\": 91 °C at 100% — 无\nsecond line\t%41";
// As our client hands it on: to logs and terminals.
constexpr const char* kOddTextInOneLine = "no \"gpu-0\": 91 °C at 100% — 无 second line\uFFFD%41";

std::string DeviceOf(const NodeWatchResourcesResponse& report) {
  return report.devices_size() == 0 ? "" : report.devices(0).device().device_name();
}

NodeWatchResourcesResponse ReportOn(const std::string& device) {
  NodeWatchResourcesResponse report;
  report.add_devices()->mutable_device()->set_device_name(device);
  return report;
}

// libgrpc++'s server: GetInfo answers, NotifyRegistrationStatus fails with the error that it was
// sent, and a watch counts to three, then waits until its reader leaves.
class TheirRegistration final : public Registration::Service {
 public:
  grpc::Status GetInfo(grpc::ServerContext*, const InfoRequest*, PluginInfo* answer) override {
    answer->set_name("their driver");
    answer->set_endpoint(std::string(1'000'000, 'e'));
    return grpc::Status::OK;
  }
  grpc::Status NotifyRegistrationStatus(grpc::ServerContext*, const RegistrationStatus* status,
                                        RegistrationStatusResponse*) override {
    return {grpc::StatusCode::FAILED_PRECONDITION, status->error()};
  }
};

class TheirHealth final : public DRAResourceHealth::Service {
 public:
  grpc::Status NodeWatchResources(grpc::ServerContext* context, const NodeWatchResourcesRequest*,
                                  grpc::ServerWriter<NodeWatchResourcesResponse>* writer) override {
    for (const char* device : {"one", "two", "three"}) writer->Write(ReportOn(device));
    while (!context->IsCancelled() && !stop) std::this_thread::yield();
    if (context->IsCancelled()) ++cancelled;
    return grpc::Status::OK;
  }
  std::atomic<int> cancelled = 0;
  std::atomic<bool> stop = false;
};

class TheirServer {
 public:
  explicit TheirServer(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&registration_);
    builder.RegisterService(&health);
    server_ = builder.BuildAndStart();
  }
  ~TheirServer() {
    health.stop = true;
    server_->Shutdown(std::chrono::system_clock::time_point());
  }

  TheirHealth health;

 private:
  TheirRegistration registration_;
  std::unique_ptr<grpc::Server> server_;
};

// Remembers a stream's devices.
class RecordingStream final : public StreamSink {
 public:
  void OnMessage(std::string_view message) override {
    devices.push_back(DeviceOf(*Decode<NodeWatchResourcesResponse>(message)));
  }
  void OnEnd(const Status& status) override { end = status; }

  std::vector<std::string> devices;
  std::optional<Status> end;
};

class OurClient : public ::testing::Test {
 protected:
  std::unique_ptr<net::Connection> Connect() {
    std::unique_ptr<net::Connection> connection;
    const auto dialling = dialer_->Dial({.target = address_}, [&](auto result) {
      ASSERT_TRUE(result.ok()) << result.status().message();
      connection = *std::move(result);
    });
    runner_.RunUntil([&] { return connection != nullptr; });
    return connection;
  }
  template <typename Response, typename Request>
  StatusOr<Response> Ask(net::Connection& connection, const char* method, const Request& request) {
    Channel channel(runner_.loop(), connection);
    std::optional<StatusOr<Response>> answer;
    const auto call = Unary<Response, Request>(
        channel, method, request, 5s, [&](StatusOr<Response> got) { answer.emplace(got); });
    runner_.RunUntil([&] { return answer.has_value(); });
    return *answer;
  }

  const TemporaryDirectory directory_;
  const std::string address_ = "unix:" + directory_.Path("s");
  net::LoopRunner runner_;
  const std::unique_ptr<net::Dialer> dialer_ = net::MakeDialer(runner_.loop());
};

TEST_F(OurClient, AsksTheirServerAndGetsAMegabyteBack) {
  const TheirServer server(address_);
  const auto connection = Connect();
  const auto info = Ask<PluginInfo>(*connection, kGetInfo, InfoRequest());
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->name(), "their driver");
  EXPECT_EQ(info->endpoint().size(), 1'000'000U);
}

TEST_F(OurClient, ReadsTheirErrorWithOddCharacters) {
  const TheirServer server(address_);
  const auto connection = Connect();
  RegistrationStatus status;
  status.set_error(kOddText);
  EXPECT_EQ(Ask<RegistrationStatusResponse>(*connection, kNotify, status).status(),
            FailedPrecondition("{}", kOddTextInOneLine));
}

TEST_F(OurClient, HearsThatTheirServerLacksAMethod) {
  const TheirServer server(address_);
  const auto connection = Connect();
  EXPECT_EQ(Ask<PluginInfo>(*connection, "/t.T/None", InfoRequest()).status().code(),
            Code::kUnimplemented);
}

TEST_F(OurClient, ReadsTheirStreamAndCancelsIt) {
  TheirServer server(address_);
  const auto connection = Connect();
  Channel channel(runner_.loop(), *connection);
  RecordingStream stream;
  auto call = channel.ServerStream(kWatch, "", stream);
  runner_.RunUntil([&] { return stream.devices.size() == 3; });
  EXPECT_EQ(stream.devices, (std::vector<std::string>{"one", "two", "three"}));
  call.reset();
  runner_.RunUntil([&] { return server.health.cancelled == 1; });
  EXPECT_TRUE(connection->usable());
}

TEST_F(OurClient, ReadsTheEndOfTheirStream) {
  TheirServer server(address_);
  const auto connection = Connect();
  Channel channel(runner_.loop(), *connection);
  RecordingStream stream;
  const auto call = channel.ServerStream(kWatch, "", stream);
  runner_.RunUntil([&] { return stream.devices.size() == 3; });
  server.health.stop = true;
  runner_.RunUntil([&] { return stream.end.has_value(); });
  EXPECT_TRUE(stream.end->ok());
}

TEST_F(OurClient, FindsTheirNextServerAfterTheFirstDied) {
  auto first = std::make_unique<TheirServer>(address_);
  const auto before = Connect();
  Channel channel(runner_.loop(), *before);
  RecordingStream stream;
  const auto call = channel.ServerStream(kWatch, "", stream);
  runner_.RunUntil([&] { return stream.devices.size() == 3; });
  first.reset();
  runner_.RunUntil([&] { return stream.end.has_value() && !before->usable(); });
  const TheirServer second(address_);
  const auto after = Connect();
  EXPECT_TRUE(Ask<PluginInfo>(*after, kGetInfo, InfoRequest()).ok());
}

// Our server with the same methods; watches are kept for the test to write to.
class TheirClient : public ::testing::Test {
 protected:
  TheirClient() {
    AddUnary<InfoRequest, PluginInfo>(
        dispatcher_, kGetInfo, [](const InfoRequest&, const Caller&, TypedReply<PluginInfo> reply) {
          PluginInfo info;
          info.set_name("our driver");
          info.set_endpoint(std::string(1'000'000, 'e'));
          reply(info);
        });
    AddUnary<RegistrationStatus, RegistrationStatusResponse>(
        dispatcher_, kNotify,
        [this](const RegistrationStatus& status, const Caller&,
               TypedReply<RegistrationStatusResponse> reply) {
          if (status.error() == "hang") {
            hanging_ = std::move(reply);
          } else {
            reply(FailedPrecondition("{}", status.error()));
          }
        });
    AddStream<NodeWatchResourcesRequest>(
        dispatcher_, kWatch,
        [this](const NodeWatchResourcesRequest&, const Caller&,
               std::unique_ptr<StreamWriter> writer) { Add(std::move(writer)); });
    StartServer();
  }

  void StartServer() {
    server_ = *net::Server::Start(runner_.loop(), NullLog(), {.address = address_}, dispatcher_);
  }
  void Add(std::unique_ptr<StreamWriter> writer) {
    auto stream = std::make_unique<NewestStream>(std::move(writer), [this] { ++gone_; });
    stream->Send(ReportOn("first").SerializeAsString());
    watches_.push_back(std::move(stream));
  }
  std::shared_ptr<grpc::Channel> Channel() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);  // how long one attempt may take
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
  }
  // Runs `work` in a thread and our loop until it has ended.
  void Run(const std::function<void()>& work) {
    std::future<void> ended = std::async(std::launch::async, work);
    runner_.RunUntil([&] { return ended.wait_for(0s) == std::future_status::ready; });
  }

  const TemporaryDirectory directory_;
  const std::string address_ = "unix:" + directory_.Path("s");
  net::LoopRunner runner_;
  Dispatcher dispatcher_{runner_.loop()};
  TypedReply<RegistrationStatusResponse> hanging_;
  std::vector<std::unique_ptr<NewestStream>> watches_;
  int gone_ = 0;
  std::unique_ptr<net::Server> server_;
};

TEST_F(TheirClient, AsksOurServerAndGetsAMegabyteBack) {
  Run([&] {
    const auto stub = Registration::NewStub(Channel());
    grpc::ClientContext context;
    PluginInfo info;
    const grpc::Status status = stub->GetInfo(&context, {}, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(info.name(), "our driver");
    EXPECT_EQ(info.endpoint().size(), 1'000'000U);
  });
}

TEST_F(TheirClient, ReadsOurErrorWithOddCharacters) {
  Run([&] {
    const auto stub = Registration::NewStub(Channel());
    grpc::ClientContext context;
    RegistrationStatus request;
    request.set_error(kOddText);
    RegistrationStatusResponse response;
    const grpc::Status status = stub->NotifyRegistrationStatus(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(status.error_message(), kOddText);
  });
}

TEST_F(TheirClient, SendsAMegabyteAndMore) {
  Run([&] {
    const auto stub = Registration::NewStub(Channel());
    RegistrationStatus request;
    RegistrationStatusResponse response;
    request.set_error(std::string(3'000'000, 'x'));
    grpc::ClientContext fits;
    EXPECT_EQ(stub->NotifyRegistrationStatus(&fits, request, &response).error_code(),
              grpc::StatusCode::FAILED_PRECONDITION);
    request.set_error(std::string(5'000'000, 'x'));
    grpc::ClientContext too_large;
    EXPECT_EQ(stub->NotifyRegistrationStatus(&too_large, request, &response).error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED);
    request.set_error(std::string(20'000'000, 'x'));
    grpc::ClientContext far_too_large;
    EXPECT_EQ(stub->NotifyRegistrationStatus(&far_too_large, request, &response).error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED);
  });
}

TEST_F(TheirClient, GivesUpAtItsDeadline) {
  Run([&] {
    const auto stub = Registration::NewStub(Channel());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 100ms);
    RegistrationStatus request;
    request.set_error("hang");
    RegistrationStatusResponse response;
    EXPECT_EQ(stub->NotifyRegistrationStatus(&context, request, &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  });
}

TEST_F(TheirClient, ReadsOurStreamAndCancelsIt) {
  Run([&] {
    const auto stub = DRAResourceHealth::NewStub(Channel());
    grpc::ClientContext context;
    const auto reader = stub->NodeWatchResources(&context, {});
    NodeWatchResourcesResponse report;
    EXPECT_TRUE(reader->Read(&report));
    EXPECT_EQ(DeviceOf(report), "first");
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  });
  runner_.RunUntil([&] { return gone_ == 1; });
}

TEST_F(TheirClient, TwentySubscribersAllGetTheLastSnapshot) {
  constexpr int kSubscribers = 20;
  std::atomic<int> got_last = 0;
  std::vector<std::future<void>> subscribers;
  for (int i = 0; i < kSubscribers; ++i) {
    subscribers.push_back(std::async(std::launch::async, [&] {
      const auto stub = DRAResourceHealth::NewStub(Channel());
      grpc::ClientContext context;
      const auto reader = stub->NodeWatchResources(&context, {});
      NodeWatchResourcesResponse report;
      while (DeviceOf(report) != "last" && reader->Read(&report)) continue;
      if (DeviceOf(report) == "last") ++got_last;
      const grpc::Status end = reader->Finish();
      EXPECT_TRUE(end.ok()) << end.error_code() << " " << end.error_message();
    }));
  }
  runner_.RunUntil([&] { return watches_.size() == kSubscribers; });
  for (int i = 0; i < 1000; ++i) {
    for (const auto& watch : watches_) watch->Send(ReportOn("between").SerializeAsString());
  }
  for (const auto& watch : watches_) {
    watch->Send(ReportOn("last").SerializeAsString());
    watch->Finish(OkStatus());
  }
  for (std::future<void>& subscriber : subscribers) {
    runner_.RunUntil([&] { return subscriber.wait_for(0s) == std::future_status::ready; });
  }
  EXPECT_EQ(got_last, kSubscribers);
}

TEST_F(TheirClient, FindsOurNextServerAfterTheFirstDied) {
  const auto channel = Channel();
  std::promise<void> first_read;
  std::future<void> was_read = first_read.get_future();
  std::future<void> work = std::async(std::launch::async, [&] {
    const auto stub = DRAResourceHealth::NewStub(channel);
    NodeWatchResourcesResponse report;
    grpc::ClientContext before;
    const auto reader = stub->NodeWatchResources(&before, {});
    EXPECT_TRUE(reader->Read(&report));
    first_read.set_value();
    EXPECT_FALSE(reader->Read(&report));
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    grpc::ClientContext after;
    after.set_wait_for_ready(true);
    EXPECT_TRUE(stub->NodeWatchResources(&after, {})->Read(&report));
  });
  runner_.RunUntil([&] { return was_read.wait_for(0s) == std::future_status::ready; });
  server_.reset();
  StartServer();
  runner_.RunUntil([&] { return work.wait_for(0s) == std::future_status::ready; });
}

}  // namespace
}  // namespace galen::rpc
