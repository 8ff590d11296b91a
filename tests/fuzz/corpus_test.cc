// Replays what fuzzing has kept: every input of tests/fuzz/corpus through its target, without a
// fuzzer. An input that broke something once breaks this test if it does so again.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/random.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = GALEN_SOURCE_DIR "/tests/fuzz/corpus";

std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::vector<std::string> InputsOf(const Target& target) {
  std::vector<std::string> inputs;
  for (const auto& entry : fs::directory_iterator(kCorpus / target.name)) {
    inputs.push_back(BytesOf(entry.path()));
  }
  return inputs;
}

class Corpus : public testing::TestWithParam<Target> {};

TEST_P(Corpus, IsTakenByItsTarget) {
  const std::vector<std::string> inputs = InputsOf(GetParam());
  EXPECT_GE(inputs.size(), 2u) << "a target begins with something to change";
  for (const std::string& input : inputs) GetParam().run(input);
  GetParam().run("");
}

// A little of what the fuzzer does, for machines without clang: bytes changed, cut and doubled. The
// same each time.
TEST_P(Corpus, IsTakenWithSmallDamageToo) {
  Random chance(1);
  for (const std::string& input : InputsOf(GetParam())) {
    if (input.empty() || input.size() > 4096) continue;
    for (int round = 0; round < 40; ++round) {
      std::string damaged = input;
      damaged[chance.Below(damaged.size())] = static_cast<char>(chance.Below(256));
      if (chance.Chance(0.3)) damaged.resize(chance.Below(damaged.size() + 1));
      if (chance.Chance(0.2)) damaged += damaged.substr(damaged.size() / 2);
      GetParam().run(damaged);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

TEST(Corpora, BelongToATarget) {
  std::set<std::string> names;
  for (const Target& target : kTargets) names.emplace(target.name);
  for (const auto& entry : fs::directory_iterator(kCorpus)) {
    EXPECT_TRUE(names.contains(entry.path().filename())) << entry.path();
  }
}

// A clone carries them for ever.
TEST(Corpora, AreSmall) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kCorpus)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  EXPECT_LE(bytes, 5'000'000u);
}

// One that belonged to no target would be read by none. A line is a comment or a text in quotes:
// libFuzzer ends at any other.
TEST(Dictionaries, BelongToATargetAndAreReadable) {
  static const std::regex kLine(R"re(#.*|"([^"\\]|\\["\\]|\\x[0-9A-F]{2})+")re");
  std::set<std::string> names;
  for (const Target& target : kTargets) names.emplace(target.name);
  for (const auto& entry : fs::directory_iterator(GALEN_SOURCE_DIR "/tests/fuzz/dictionaries")) {
    EXPECT_TRUE(names.contains(entry.path().filename())) << entry.path();
    std::istringstream text(BytesOf(entry.path()));
    for (std::string line; std::getline(text, line);) {
      EXPECT_TRUE(std::regex_match(line, kLine)) << entry.path() << ": " << line;
    }
  }
}

// The messages of the services in one of our .proto files, in full.
std::set<std::string> MessagesOf(const std::string& proto) {
  static const std::regex kPackage(R"(\npackage ([\w.]+);)");
  static const std::regex kCall(
      R"(rpc\s+\w+\s*\(\s*(?:stream\s+)?(\w+)\s*\)\s*returns\s*\(\s*(?:stream\s+)?(\w+)\s*\))");
  std::smatch package;
  if (!std::regex_search(proto, package, kPackage)) return {};
  std::set<std::string> names;
  for (std::sregex_iterator call(proto.begin(), proto.end(), kCall), end; call != end; ++call) {
    names.insert(package.str(1) + "." + call->str(1));
    names.insert(package.str(1) + "." + call->str(2));
  }
  return names;
}

TEST(Messages, OfEveryServiceAreFuzzed) {
  std::set<std::string> called;
  for (const auto& entry : fs::recursive_directory_iterator(GALEN_SOURCE_DIR "/src/protos")) {
    if (entry.path().extension() != ".proto") continue;
    const std::set<std::string> names = MessagesOf(BytesOf(entry.path()));
    EXPECT_FALSE(names.empty()) << entry.path();
    called.insert(names.begin(), names.end());
  }
  EXPECT_TRUE(called.contains("galen.inspect.v1.ListPostMortemsResponse"));
  EXPECT_EQ(FuzzedMessages(), called);
}

}  // namespace
}  // namespace galen::fuzz
