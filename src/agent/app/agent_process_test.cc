#include "agent/app/agent_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/files/test_temporary_directory.h"
#include "net/endpoint/server.h"
#include "net/socket/socket.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
namespace wire = galen::inspect::v1;

// A user of the machine who is neither root nor the agent's.
constexpr uid_t kStranger = 65534;

// The agent as its program makes it, on a node without drivers and an API server that is away.
class AgentProcessTest : public ::testing::Test {
 protected:
  ~AgentProcessTest() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC"}) ::unsetenv(name);
  }

  void Start() {
    std::filesystem::create_directories(directory_.Path("k/plugins_registry"));
    std::filesystem::create_directories(directory_.Path("s"));
    std::ofstream(directory_.Path("kubeconfig"))
        << "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: "
           "{cluster: k, user: u}}], clusters: [{name: k, cluster: {server: "
           "'http://127.0.0.1:1'}}], users: [{name: u, user: {}}]}";
    AgentConfig config;
    config.node = "node-7";
    config.kubelet_root = directory_.Path("k");
    config.state_dir = directory_.Path("s");
    config.socket = Socket();
    config.kubeconfig.path = directory_.Path("kubeconfig");
    config.log_level = LogLevel::kError;
    process_ = AgentProcess::Create(config).value();
    ASSERT_TRUE(process_->PrepareApi().ok());
    const Status started = process_->Start();
    ASSERT_TRUE(started.ok()) << started.message();
  }
  std::string Socket() const { return directory_.Path("agent.sock"); }

  const TemporaryDirectory directory_;
  std::unique_ptr<AgentProcess> process_;
};

// Asks the agent how it is, on its own loop, as the user `uid`.
Code AskAs(uid_t uid, const std::string& socket, IoLoop& its_loop) {
  auto& loop = dynamic_cast<EpollLoop&>(its_loop);
  const auto dialer = net::MakeDialer(loop);
  std::unique_ptr<net::Connection> connection;
  net::DialOptions options;
  options.target = "unix:" + socket;
  // By the system call, which changes the user of this thread only (setresuid(3) changes it of all
  // threads). A socket keeps the user that its peer had when it connected.
  const auto become = [](uid_t user) { ::syscall(SYS_setresuid, -1, user, -1); };
  const uid_t self = ::geteuid();
  become(uid);
  const auto dialling = dialer->Dial(options, [&](auto made) {
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) connection = std::move(*made);
    loop.Stop();
  });
  if (!connection) loop.Run();
  become(self);
  if (!connection) return Code::kUnavailable;
  rpc::Channel channel(loop, *connection);
  Code code = Code::kUnavailable;
  const auto call = rpc::Unary<wire::GetStatusResponse>(
      channel, "/galen.inspect.v1.Inspect/GetStatus", wire::GetStatusRequest(), 10s,
      [&](const StatusOr<wire::GetStatusResponse>& answer) {
        code = answer.status().code();
        loop.Stop();
      });
  loop.Run();
  return code;
}

// Somebody has opened the socket to all, where its mode was the only fence.
TEST_F(AgentProcessTest, TellsNothingToAStrangerWhoGetsAtItsSocket) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(Socket().c_str(), 0666), 0);
  // Only root can be another user.
  if (::geteuid() == 0) {
    EXPECT_EQ(AskAs(kStranger, Socket(), process_->loop()), Code::kPermissionDenied);
  }
  EXPECT_EQ(AskAs(::geteuid(), Socket(), process_->loop()), Code::kOk);
}

// Reads what has come.
std::string Heard(const Fd& fd) {
  std::string heard;
  char buffer[4096];
  for (ssize_t size = 0; (size = ::recv(fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT)) > 0;) {
    heard.append(buffer, static_cast<std::size_t>(size));
  }
  return heard;
}

bool Speaks(const Fd& fd, Duration within) {
  pollfd polled{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, static_cast<int>(within / 1ms)) == 1;
}

// What liveness and a service manager's watchdog are there to find.
TEST_F(AgentProcessTest, WhileItsLoopHangsItAnswersNeitherItsProbeNorItsWatchdog) {
  const Fd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  directory_.Path("notify").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::setenv("NOTIFY_SOCKET", address.sun_path, 1);
  ::setenv("WATCHDOG_USEC", "2000", 1);
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string page = directory_.Path("page.sock");
  // As bin/agent.cc serves it.
  const auto server = net::Server::Start(process_->loop(), process_->log(),
                                         *net::AdminServerOptions("unix:" + page), process_->page())
                          .value();
  std::thread runs([this] { process_->Run(); });
  EXPECT_TRUE(Speaks(manager, 10s));

  std::promise<void> hangs, goes_on;
  process_->loop().Post([&] {
    hangs.set_value();
    goes_on.get_future().wait();
  });
  hangs.get_future().wait();
  Heard(manager);
  const Fd probe = net::StartConnect(*net::UnixSocketAddress(page)).value();
  const std::string request = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n";
  EXPECT_GT(::send(probe.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  // Fifty times as long as the watchdog waits for.
  EXPECT_FALSE(Speaks(manager, 100ms)) << Heard(manager);
  EXPECT_FALSE(Speaks(probe, 0ms)) << Heard(probe);

  goes_on.set_value();
  EXPECT_TRUE(Speaks(probe, 10s));
  EXPECT_TRUE(Heard(probe).starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(Speaks(manager, 10s));
  process_->loop().Post([] { ::raise(SIGTERM); });
  runs.join();
}

}  // namespace
}  // namespace galen::agent
