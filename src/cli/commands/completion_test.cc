#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "cli/commands/commands.h"

namespace galen::cli {
namespace {

std::string Written(const std::string& shell) {
  const std::string path = testing::TempDir() + "galen_completion." + shell;
  std::ofstream(path) << *CompletionScript(shell);
  return path;
}

bool Has(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
}

// What the command prints, words parted by one space.
std::string Printed(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string words;
  char word[256];
  while (std::fscanf(pipe, "%255s", word) == 1)
    words += (words.empty() ? "" : " ") + std::string(word);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return words;
}

std::size_t CountOf(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// As much as can be said of a script without its shell: all that opens is closed, nothing was left
// to be filled in.
void ExpectWellFormed(const std::string& script) {
  EXPECT_EQ(CountOf(script, "("), CountOf(script, ")"));
  EXPECT_EQ(CountOf(script, "{"), CountOf(script, "}"));
  EXPECT_EQ(CountOf(script, "[["), CountOf(script, "]]"));
  EXPECT_EQ(CountOf(script, "\"") % 2, 0u);
  EXPECT_EQ(CountOf(script, "'") % 2, 0u);
  EXPECT_EQ(CountOf(script, "\nif ") + CountOf(script, "  if "),
            CountOf(script, "\nfi\n") + CountOf(script, "  fi\n"));
  EXPECT_EQ(CountOf(script, "@"), CountOf(script, "\"$@\""));
}

std::string InBash(const std::string& words, int current) {
  return Printed("bash -c 'source " + Written("bash") + "; COMP_WORDS=(" + words +
                 "); COMP_CWORD=" + std::to_string(current) + "; _galen; echo ${COMPREPLY[*]}'");
}

TEST(Completion, OfBashCompletesCommandsKindsAndFormats) {
  EXPECT_EQ(InBash("galen w", 1), "why watch");
  EXPECT_EQ(InBash("galen get d", 2), "devices drivers");
  EXPECT_EQ(InBash("galen watch p", 2), "pods");
  EXPECT_EQ(InBash("galen get pods -o y", 4), "yaml");
  EXPECT_EQ(InBash("galen -n train get d", 4), "devices drivers");
  EXPECT_EQ(InBash("galen help con", 2), "conformance");
}

TEST(Completion, OfBashKnowsTheFlagsAndValuesOfEachCommand) {
  EXPECT_EQ(InBash("galen inject --dr", 2), "--driver --driver-socket");
  EXPECT_EQ(InBash("galen demo --k", 2), "--kubeconfig --keep --kernel-log");
  EXPECT_EQ(InBash("galen conformance --re", 2), "--read-only");
  EXPECT_EQ(InBash("galen conformance -o j", 3), "json junit");
  EXPECT_EQ(InBash("galen why --b", 2), "") << "it has none";
  EXPECT_EQ(InBash("galen rules \"\"", 2), "check list explain test schema record");
  EXPECT_EQ(InBash("galen rules test --r", 3), "--replay");
  EXPECT_EQ(InBash("galen help rules e", 3), "explain");
}

// A file that is there once the name of a device was run as a command.
std::string RunByAName() { return testing::TempDir() + "galen_completion_was_run"; }

// A galen that answers as the real one does, before the real one in the PATH.
std::string WithAnsweringGalen(const std::string& words, int current) {
  const std::string directory = testing::TempDir() + "galen_completion_bin";
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/galen") << R"(#!/bin/sh
case $1$2 in
inject) printf 'SIGN UNIT\ntemperature °C 45 hot\nxid  which\n\n'
  printf '`reset` alone is x\nDevices: gpu-0 gpu-1 $(touch${IFS}%s) `touch${IFS}%s`\n' $RUN $RUN ;;
getdevices) printf '{\n  "device": "gpu-7",\n  "driver": "gpu"\n}\n' ;;
getdrivers) printf '{\n  "name": "gpu.example.com"\n}\n' ;;
getpods) printf '{\n  "pod": "llm-0"\n}\n' ;;
esac
)";
  std::filesystem::permissions(directory + "/galen", std::filesystem::perms::owner_all);
  return Printed("RUN=" + RunByAName() + " PATH=" + directory + ":$PATH bash -c 'source " +
                 Written("bash") + "; COMP_WORDS=(" + words +
                 "); COMP_CWORD=" + std::to_string(current) + "; _galen; echo ${COMPREPLY[*]}'");
}

TEST(Completion, OfBashKnowsTheNamesThatThereAre) {
  EXPECT_EQ(WithAnsweringGalen("galen inject g", 2), "gpu-0 gpu-1");
  EXPECT_EQ(WithAnsweringGalen("galen inject gpu-0 \"\"", 3), "reset temperature= xid=");
  EXPECT_EQ(WithAnsweringGalen("galen inject --driver \"\"", 3), "gpu.example.com");
  EXPECT_EQ(WithAnsweringGalen("galen get devices g", 3), "gpu-7");
  EXPECT_EQ(WithAnsweringGalen("galen why l", 2), "llm-0");
}

TEST(Completion, OfBashRunsNoNameAsACommand) {
  std::filesystem::remove(RunByAName());
  EXPECT_EQ(WithAnsweringGalen("galen inject gpu-0 r", 3), "reset");
  EXPECT_TRUE(WithAnsweringGalen("galen inject g", 2).starts_with("gpu-0 gpu-1"));
  EXPECT_FALSE(std::filesystem::exists(RunByAName()));
}

// The function is called as zsh calls it, with the words of the line; compadd(1) prints them
// instead.
TEST(Completion, OfZshCompletesTheSame) {
  ExpectWellFormed(*CompletionScript("zsh"));
  if (!Has("zsh")) return;
  const auto in_zsh = [](const std::string& words, int current) {
    return Printed("zsh -fc 'compdef() { :; }; compadd() { shift; echo $*; }; source " +
                   Written("zsh") + "; words=(" + words + "); CURRENT=" + std::to_string(current) +
                   "; _galen'");
  };
  EXPECT_EQ(in_zsh("galen \"\"", 2),
            "get why post-mortem watch inject demo dev-node conformance doctor check rules version "
            "completion help");
  EXPECT_EQ(in_zsh("galen get d", 3), "devices pods nodes drivers checks");
  EXPECT_EQ(in_zsh("galen get pods -o y", 5), "table wide json yaml");
}

TEST(Completion, OfFishCompletesTheSame) {
  const std::string script = *CompletionScript("fish");
  ExpectWellFormed(script);
  for (std::string_view rest = script; !rest.empty();
       rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()))) {
    EXPECT_TRUE(rest.starts_with("#") || rest.starts_with("set -l ") ||
                rest.starts_with("complete -c galen "))
        << rest.substr(0, rest.find('\n'));
  }
  if (!Has("fish")) return;
  const auto in_fish = [](const std::string& line) {
    return Printed("fish --no-config -c 'source " + Written("fish") + "; complete -C \"" + line +
                   "\"'");
  };
  EXPECT_EQ(in_fish("galen w"), "watch why");
  EXPECT_EQ(in_fish("galen get d"), "devices drivers");
  EXPECT_EQ(in_fish("galen get pods -o y"), "yaml");
}

TEST(Completion, KnowsThreeShellsAndNamesThem) {
  const auto other = CompletionScript("tcsh");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("bash, zsh and fish"), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
