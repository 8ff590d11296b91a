#include "base/flags.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

using namespace std::chrono_literals;

std::optional<int> Parse(Flags& flags, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "galen");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return flags.Parse(static_cast<int>(arguments.size()), argv.data());
}

// A program with one flag of each kind.
struct Program {
  Program() {
    flags.Add("-n,--node", node, "name of the node");
    flags.Add("--port", port, "where to listen");
    flags.Add("--timeout", timeout, "how long to wait");
    flags.Add("--driver", drivers, "drivers to watch");
    flags.AddSwitch("--once", once, "leave after one round");
    flags.AddChoice("-o,--output", output, {"table", "json"}, "how to print");
  }
  std::string node = "node-1";
  std::int64_t port = 8080;
  Duration timeout = 90s;
  std::vector<std::string> drivers;
  bool once = false;
  std::string output = "table";
  Flags flags{"galen", "Shows device health.", "galen 1.2.3"};
};

TEST(Flags, WritesWhatIsSaidAndKeepsTheRest) {
  Program program;
  EXPECT_EQ(Parse(program.flags, {"-n", "node-7", "--timeout=250ms", "--once", "-o", "json",
                                  "--driver", "a", "--driver", "b"}),
            std::nullopt);
  EXPECT_EQ(program.node, "node-7");
  EXPECT_EQ(program.timeout, 250ms);
  EXPECT_TRUE(program.once);
  EXPECT_EQ(program.output, "json");
  EXPECT_EQ(program.drivers, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(program.port, 8080);
}

TEST(Flags, FaultsLeaveWithTheUsageCodeAndSayWhat) {
  const std::vector<std::vector<std::string>> faults = {
      {"--nod", "x"}, {"--port", "many"}, {"--timeout", "soon"},  {"-o", "xml"},
      {"stray"},      {"--node"},         {"--driver", "a", "b"},
  };
  for (const auto& arguments : faults) {
    Program program;
    testing::internal::CaptureStderr();
    EXPECT_EQ(Parse(program.flags, arguments), kExitUsage) << arguments.back();
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.rfind("galen: ", 0), 0u) << text;
    EXPECT_NE(text.find("--help"), std::string::npos) << text;
  }
}

// Repairing a command line took as many tries as it had faults.
TEST(Flags, EveryFaultIsReportedAtOnce) {
  Program program;
  program.flags.AddCheck([&] {
    EXPECT_EQ(program.timeout, 90s) << "what cannot be read has its default";
    return InvalidArgument("--node is missing\n--driver is missing");
  });
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      Parse(program.flags, {"--timeout", "soon", "--port", "many", "-o", "xml", "--nod", "x"}),
      kExitUsage);
  const std::string text = testing::internal::GetCapturedStderr();
  for (const char* fault :
       {"galen: --timeout: duration \"soon\"", "galen: --port: 'many' is not a whole number\n",
        "galen: -o,--output: 'xml' is not one of ", "--nod", "galen: --node is missing\n",
        "galen: --driver is missing\n"}) {
    EXPECT_NE(text.find(fault), std::string::npos) << fault << " in " << text;
  }
}

TEST(Flags, AFlagWithoutItsValueSwallowsNoOther) {
  Program program;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse(program.flags, {"--node=", "--port", "many"}), kExitUsage);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("galen: --node= has no value behind it\n"), std::string::npos) << text;
  EXPECT_NE(text.find("galen: --port: 'many' is not a whole number\n"), std::string::npos) << text;
  Program fine;
  EXPECT_EQ(Parse(fine.flags, {"--node=a=b="}), std::nullopt);
  EXPECT_EQ(fine.node, "a=b=");
}

TEST(Flags, ACheckOfTheCommandThatWasNamedIsAsked) {
  bool asked = false;
  const auto refuse = [&] {
    asked = true;
    return InvalidArgument("no");
  };
  Flags flags("galen", "Shows device health.", "1");
  flags.AddCommand("get", "Show things", [] { return 0; }).AddCheck(refuse);
  flags.AddCommand("why", "Explain", [] { return 0; });
  EXPECT_EQ(Parse(flags, {"why"}), std::nullopt);
  EXPECT_FALSE(asked);
  Flags again("galen", "Shows device health.", "1");
  again.AddCommand("get", "Show things", [] { return 0; }).AddCheck(refuse);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse(again, {"get"}), kExitUsage);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "galen: no\nRun \"galen get --help\" for usage.\n");
}

TEST(Flags, BadDurationIsExplained) {
  Program program;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse(program.flags, {"--timeout", "soon"}), kExitUsage);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("as in 250ms"), std::string::npos);
  EXPECT_EQ(program.timeout, 90s);
}

TEST(Flags, HelpShowsEachFlagWithItsDefault) {
  Program program;
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse(program.flags, {"--help"}), 0);
  const std::string text = testing::internal::GetCapturedStdout();
  for (const char* part : {"--node", "name of the node", "node-1", "8080", "1m30s", "table"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(Flags, VersionIsPrinted) {
  Program program;
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse(program.flags, {"--version"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "galen 1.2.3\n");
}

// galen get devices POD...
struct Commands {
  Commands() {
    flags.Add("--context", context, "which cluster");
    Flags& get = flags.AddCommand("get", "Show things");
    Flags& devices = get.AddCommand("devices", "Show devices", [] { return 3; });
    devices.AddPositionals("pods", pods, "only of these");
    flags.AddCommand("version", "Show the version", [] { return 4; });
    flags.AddCommand("why", "Explain", [] { return 5; }).AddPositional("pod", pod, "which");
  }
  std::string context;
  std::string pod;
  std::vector<std::string> pods;
  Flags flags{"galen", "Shows device health.", "1"};
};

TEST(Flags, RunsTheDeepestCommandNamed) {
  Commands commands;
  EXPECT_EQ(Parse(commands.flags, {"get", "devices", "a", "b"}), std::nullopt);
  EXPECT_EQ(commands.flags.Run(), 3);
  EXPECT_EQ(commands.pods, (std::vector<std::string>{"a", "b"}));
}

TEST(Flags, FlagOfTheProgramMayFollowTheCommand) {
  Commands commands;
  EXPECT_EQ(Parse(commands.flags, {"get", "devices", "--context", "prod"}), std::nullopt);
  EXPECT_EQ(commands.context, "prod");
}

TEST(Flags, GivesTheHelpOfACommandAsItsOwnFlagDoes) {
  Commands commands;
  const std::string text = *commands.flags.Help("why");
  testing::internal::CaptureStdout();
  EXPECT_NE(text.find("What \"galen --help\" lists may stand here, too."), std::string::npos)
      << text;
  EXPECT_EQ(Parse(commands.flags, {"why", "--help"}), 0);
  EXPECT_EQ(text, testing::internal::GetCapturedStdout());
  EXPECT_NE(commands.flags.Help("")->find("Show the version"), std::string::npos);
  Flags outer("galen", "Shows device health.", "1");
  outer.AddCommand("rules", "Tables").AddCommand("check", "Every fault of a table", [] {
    return 0;
  });
  EXPECT_NE(outer.Help("rules check")->find("Every fault of a table"), std::string::npos);
  EXPECT_NE(outer.Help("rules check")->find("galen rules check"), std::string::npos);
  EXPECT_EQ(outer.Help("rules chek").status().message(),
            "there is no command 'chek'; there are check");
  EXPECT_EQ(outer.Help("rules check me").status().message(), "galen rules check has no commands");
  EXPECT_NE(commands.flags.Help("whence").status().message().find("get, version, why"),
            std::string::npos);
}

// What is printed on stderr when these arguments are refused.
std::string Refusal(const std::vector<std::string>& arguments) {
  Commands commands;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse(commands.flags, arguments), kExitUsage);
  return testing::internal::GetCapturedStderr();
}

TEST(Flags, AMissingArgumentIsNamedWithWhatMayBeGiven) {
  EXPECT_EQ(Refusal({"why"}),
            "galen: pod is missing: which\nRun \"galen why --help\" for usage.\n");
}

TEST(Flags, ArgumentsTooManyAreNamedInTheirOrder) {
  EXPECT_EQ(Refusal({"why", "a", "b", "c"}),
            "galen: unexpected argument: b c\nRun \"galen why --help\" for usage.\n");
}

TEST(Flags, AnUnknownCommandIsSaidWithThoseThereAre) {
  EXPECT_EQ(Refusal({"got"}),
            "galen: there is no command 'got'; there are get, version, why\n"
            "Run \"galen --help\" for usage.\n");
  EXPECT_EQ(Refusal({}),
            "galen: a command is missing: get, version, why\nRun \"galen --help\" for usage.\n");
}

TEST(Flags, MissingCommandOrArgumentIsAFault) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"get"}, {"why"}, {"got"}}) {
    EXPECT_FALSE(Refusal(arguments).empty());
  }
}

}  // namespace
}  // namespace galen
