#include "cli/inject.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/temporary_directory.h"
#include "cli/agent_link.h"
#include "net/server.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"

namespace galen::cli {
namespace {

namespace inspect = galen::inspect::v1;
namespace simulator = galen::simulator::v1;

// The sockets of a node: an agent that knows two drivers of one device each, the first of which
// answers with `odd` (nullopt: never) and the second simulates. Served by a thread of their own,
// for the command waits on its caller's.
class Node {
 public:
  explicit Node(std::optional<Status> odd) {
    AddAgent();
    odd_.AddUnary("/galen.simulator.v1.Simulator/ListSigns",
                  [this, odd](std::string_view, const rpc::Caller&, rpc::Reply reply) {
                    if (odd) return reply(*odd);
                    unanswered_.push_back(std::move(reply));
                  });
    AddSimulator();
    Serve("agent.sock", agent_);
    Serve("a.example.com", odd_);
    Serve("b.example.com", simulator_);
    thread_ = std::thread([this] { loop_->Run(); });
  }
  ~Node() {
    loop_->Post([this] { loop_->Stop(); });
    thread_.join();
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
    rpc::AddUnary<inspect::ListDriversRequest, inspect::ListDriversResponse>(
        agent_, "/galen.inspect.v1.Inspect/ListDrivers",
        [this](const auto&, const rpc::Caller&, const auto& reply) {
          inspect::ListDriversResponse answer;
          for (const char* name : {"a.example.com", "b.example.com"}) {
            inspect::Driver& driver = *answer.add_drivers();
            driver.set_name(name);
            driver.set_endpoint(Path(name));
            driver.set_authority(true);
          }
          reply(answer);
        });
    rpc::AddUnary<inspect::ListDevicesRequest, inspect::ListDevicesResponse>(
        agent_, "/galen.inspect.v1.Inspect/ListDevices",
        [](const auto&, const rpc::Caller&, const auto& reply) {
          inspect::ListDevicesResponse answer;
          for (const std::string name : {"a", "b"}) {
            answer.add_devices()->set_driver(name + ".example.com");
            answer.mutable_devices()->rbegin()->set_device(name + "-0");
          }
          reply(answer);
        });
  }

  void AddSimulator() {
    rpc::AddUnary<simulator::ListSignsRequest, simulator::ListSignsResponse>(
        simulator_, "/galen.simulator.v1.Simulator/ListSigns",
        [](const auto&, const rpc::Caller&, const auto& reply) {
          simulator::ListSignsResponse answer;
          answer.add_devices("b-0");
          answer.add_signs()->set_name("xid");
          reply(answer);
        });
    rpc::AddUnary<simulator::InjectRequest, simulator::InjectResponse>(
        simulator_, "/galen.simulator.v1.Simulator/Inject",
        [](const auto&, const rpc::Caller&, const auto& reply) {
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
  std::vector<std::unique_ptr<net::Server>> servers_;
  std::vector<rpc::Reply> unanswered_;
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
            "no agent listens on /nonexistent/agent.sock: run this on the Pod's node, or name the "
            "socket by --agent-socket or GALEN_AGENT_SOCKET");
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
  EXPECT_TRUE(answer.status().message().starts_with("which sign shall gpu-5 show?"));
}

TEST(Inject, SaysThatASocketIsForRoot) {
  const Status refused = Advise(PermissionDenied("dial unix:/a: connect to unix:/a: denied"),
                                "agent", "/run/galen/agent.sock", "run this elsewhere");
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_EQ(refused.message(), "the agent's socket /run/galen/agent.sock is root's: try sudo");
  EXPECT_EQ(Advise(DeadlineExceeded("late"), "agent", "/a", "b").message(), "late");
}

}  // namespace
}  // namespace galen::cli
