#include "cli/inject.h"

#include <gtest/gtest.h>

#include "cli/agent_link.h"

namespace galen::cli {
namespace {

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
