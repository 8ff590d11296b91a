#include "cli/inject.h"

#include <gtest/gtest.h>

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
  EXPECT_NE(answer.status().message().find("/nonexistent/agent.sock"), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
