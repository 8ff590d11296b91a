#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/files/test_temporary_directory.h"
#include "cli/commands/commands.h"
#include "cli/inspect/agent_link.h"
#include "net/endpoint/server.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"
#include "rpc/wire.h"

namespace galen::cli {
namespace {

namespace wire = galen::inspect::v1;
namespace simulator = galen::simulator::v1;

// An agent's door, which notes how long each question for its status may take.
class Door final : public net::HttpHandler {
 public:
  explicit Door(net::HttpHandler& inner) : inner_(inner) {}

  void Handle(std::unique_ptr<net::HttpExchange> exchange) override {
    const net::HttpRequest& request = exchange->request();
    if (request.path.ends_with("/GetStatus")) {
      const auto timeout = net::FindHeader(request.headers, "grpc-timeout");
      waits_.push_back(rpc::ParseTimeout(timeout.value_or("")).value_or(Duration::max()));
    }
    inner_.Handle(std::move(exchange));
  }

  const std::vector<Duration>& waits() const { return waits_; }

 private:
  net::HttpHandler& inner_;
  std::vector<Duration> waits_;
};

// The sockets of a node: an agent that knows two drivers of one device each, the first of which
// answers with `odd` (nullopt: never) and the second simulates. Served by a thread of their own,
// for the command waits on its caller's.
class Node {
 public:
  explicit Node(std::optional<Status> odd) {
    AddAgent();
    AddStatus();
    odd_.AddUnary("/galen.simulator.v1.Simulator/ListSigns",
                  [this, odd](std::string_view, const rpc::Caller&, rpc::Reply reply) {
                    if (odd) return reply(*odd);
                    unanswered_.push_back(std::move(reply));
                  });
    AddSimulator();
    Serve("agent.sock", door_);
    Serve("a.example.com", odd_);
    Serve("b.example.com", simulator_);
    thread_ = std::thread([this] { loop_->Run(); });
  }
  ~Node() { Stop(); }
  // What it noted may be read from now on.
  void Stop() {
    if (!thread_.joinable()) return;
    loop_->Post([this] { loop_->Stop(); });
    thread_.join();
  }

  // How long the agent was given for each answer about its status.
  const std::vector<Duration>& waits() const { return door_.waits(); }

  // How often the agent was asked for its status since the sign was injected.
  int asked_since() const { return asked_since_; }

  // What can be injected.
  StatusOr<std::string> List() {
    Options options;
    options.agent_socket = Path("agent.sock");
    return cli::Inject(options, {.device = "", .sign = "", .driver = "", .driver_socket = ""});
  }

  StatusOr<std::string> Inject(const std::string& device, const std::string& driver = "") {
    Options options;
    options.agent_socket = Path("agent.sock");
    return cli::Inject(options,
                       {.device = device, .sign = "xid=79", .driver = driver, .driver_socket = ""});
  }

 private:
  std::string Path(const std::string& name) const { return directory_.Path(name); }

  void AddAgent() {
    rpc::AddUnary<wire::ListDriversRequest, wire::ListDriversResponse>(
        agent_, "/galen.inspect.v1.Inspect/ListDrivers",
        [this](const auto&, const rpc::Caller&, const auto& reply) {
          wire::ListDriversResponse answer;
          for (const char* name : {"a.example.com", "b.example.com"}) {
            wire::Driver& driver = *answer.add_drivers();
            driver.set_name(name);
            driver.set_endpoint(Path(name));
            driver.set_authority(true);
          }
          reply(answer);
        });
    rpc::AddUnary<wire::ListDevicesRequest, wire::ListDevicesResponse>(
        agent_, "/galen.inspect.v1.Inspect/ListDevices",
        [](const auto&, const rpc::Caller&, const auto& reply) {
          wire::ListDevicesResponse answer;
          for (const std::string name : {"a", "b"}) {
            answer.add_devices()->set_driver(name + ".example.com");
            answer.mutable_devices()->rbegin()->set_device(name + "-0");
          }
          reply(answer);
        });
  }

  // The change is known at once, and published when it was asked for three times.
  void AddStatus() {
    rpc::AddUnary<wire::GetStatusRequest, wire::GetStatusResponse>(
        agent_, "/galen.inspect.v1.Inspect/GetStatus",
        [this](const auto&, const rpc::Caller&, const auto& reply) {
          wire::GetStatusResponse answer;
          answer.set_changes(injected_ ? 8 : 7);
          answer.set_all_published(!injected_ || ++asked_since_ >= 3);
          reply(answer);
        });
  }

  void AddSimulator() {
    rpc::AddUnary<simulator::ListSignsRequest, simulator::ListSignsResponse>(
        simulator_, "/galen.simulator.v1.Simulator/ListSigns",
        [](const auto&, const rpc::Caller&, const auto& reply) {
          simulator::ListSignsResponse answer;
          for (const char* device : {"b-0", "$(reboot)", "b 1", "\x1b[2J"})
            answer.add_devices(device);
          for (const char* sign : {"xid", "`reboot`", "\x1b]0;x\x07"}) {
            answer.add_signs()->set_name(sign);
            answer.mutable_signs()->rbegin()->set_help("as it says");
          }
          reply(answer);
        });
    rpc::AddUnary<simulator::InjectRequest, simulator::InjectResponse>(
        simulator_, "/galen.simulator.v1.Simulator/Inject",
        [this](const auto&, const rpc::Caller&, const auto& reply) {
          injected_ = true;
          reply(simulator::InjectResponse());
        });
  }

  void Serve(const std::string& name, net::HttpHandler& handler) {
    servers_.push_back(std::move(
        *net::Server::Start(*loop_, NullLog(), {.address = "unix:" + Path(name)}, handler)));
  }

  TemporaryDirectory directory_;
  std::unique_ptr<EpollLoop> loop_ = std::move(*EpollLoop::Create());
  rpc::Dispatcher agent_{*loop_}, odd_{*loop_}, simulator_{*loop_};
  Door door_{agent_};
  std::vector<std::unique_ptr<net::Server>> servers_;
  std::vector<rpc::Reply> unanswered_;
  std::atomic<bool> injected_ = false;
  std::atomic<int> asked_since_ = 0;
  std::thread thread_;
};

TEST(Inject, ADriverThatAnswersOddlyHidesNoOther) {
  Node node(Internal("out of order"));
  const auto answer = node.Inject("b-0");
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  const std::string why = "driver a.example.com does not say what it simulates: out of order";
  EXPECT_EQ(node.Inject("a-0").status().message(), why + "; look at its log, then try again");
  EXPECT_EQ(node.Inject("a-0", "a.example.com").status(), Internal("{}", why));
  EXPECT_TRUE(node.Inject("b-0", "b.example.com").ok());
}

// bash runs what a completion offers, as root where the agent's socket is root's.
TEST(Inject, ListsNamesOnly) {
  Node node(Internal("out of order"));
  const auto list = node.List();
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_EQ(
      *list,
      "SIGN  UNIT  USUAL  MEANING\n"
      "xid                as it says\n"
      "\nreset=host, or reset alone, ends all that was injected; reset=gpu leaves what needs a "
      "reboot.\n"
      "Devices: b-0\n");
}

// `galen get pods` right after it showed the Pod as it was before.
TEST(Inject, EndsWhenTheAgentHasPublishedWhatTheSignChanged) {
  Node node(Internal("out of order"));
  ASSERT_TRUE(node.Inject("b-0").ok());
  EXPECT_EQ(node.asked_since(), 3);
}

// An agent that hung at its last answer made the two seconds four.
TEST(Inject, AsksTheAgentForNoLongerThanItMayWait) {
  Node node(Internal("out of order"));
  ASSERT_TRUE(node.Inject("b-0").ok());
  node.Stop();
  ASSERT_EQ(node.waits().size(), 4u);
  EXPECT_LE(node.waits()[0], std::chrono::milliseconds(250)) << "before the sign is there";
  EXPECT_LE(node.waits()[1], std::chrono::seconds(2));
  EXPECT_LT(node.waits()[2], node.waits()[1]);
  EXPECT_LT(node.waits()[3], node.waits()[2]);
}

TEST(Inject, ADriverThatHangsHidesNoOther) {
  Node node(std::nullopt);
  const auto answer = node.Inject("b-0");
  EXPECT_TRUE(answer.ok()) << answer.status().message();
}

TEST(Inject, ReadsASignAndItsValue) {
  EXPECT_EQ(*ParseSign("xid=79"), (SignArgument{"xid", "79"}));
  EXPECT_EQ(*ParseSign("reset"), (SignArgument{"reset", ""}));
  EXPECT_EQ(*ParseSign("note=a=b"), (SignArgument{"note", "a=b"}));
}

TEST(Inject, SaysHowASignIsWritten) {
  for (const std::string text : {"xid", "=79", "xid=", ""}) {
    const auto sign = ParseSign(text);
    ASSERT_FALSE(sign.ok()) << text;
    EXPECT_EQ(sign.status().code(), Code::kInvalidArgument);
    EXPECT_NE(sign.status().message().find("name=value"), std::string::npos);
  }
}

TEST(Inject, WithoutAnAgentNamesItsSocket) {
  Options options;
  options.agent_socket = "/nonexistent/agent.sock";
  const auto answer =
      Inject(options, {.device = "gpu-0", .sign = "xid=79", .driver = "", .driver_socket = ""});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().message(),
            "no agent listens on /nonexistent/agent.sock: run this on the Pod's node or in its "
            "galen-agent Pod, or name the socket by --agent-socket or GALEN_AGENT_SOCKET; "
            "--driver-socket leads to a driver itself");
}

TEST(Inject, WithoutADriverNamesItsSocketOnce) {
  const auto answer = Inject({}, {.device = "gpu-0",
                                  .sign = "xid=79",
                                  .driver = "",
                                  .driver_socket = "/nonexistent/dra.sock"});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().message(),
            "no driver listens on /nonexistent/dra.sock: is it running? --driver-socket names "
            "another");
}

TEST(Inject, AsksWhichSignADeviceShallShow) {
  const auto answer =
      Inject({}, {.device = "gpu-5", .sign = "", .driver = "", .driver_socket = ""});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(answer.status().message().starts_with("name the sign to inject into gpu-5:"));
}

TEST(Inject, SaysThatASocketIsForRoot) {
  const Status refused = Advise(PermissionDenied("dial unix:/a: connect to unix:/a: denied"),
                                "agent", "/run/galen/agent.sock", "run this elsewhere");
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_EQ(refused.message(), "the agent's socket /run/galen/agent.sock is root's: try sudo");
  EXPECT_EQ(Advise(DeadlineExceeded("dial unix:/a: late"), "agent", "/a", "b").message(),
            "the agent behind /a does not answer: does it hang, or is it stopped?");
  EXPECT_EQ(Advise(Internal("odd"), "agent", "/a", "b").message(), "odd");
}

}  // namespace
}  // namespace galen::cli
