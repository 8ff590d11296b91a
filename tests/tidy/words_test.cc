#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace galen::tidy {
namespace {

struct Ban {
  std::string pattern;
  std::string instead;
  std::set<std::string> places_allowed;  // rooms, or the begin of a path
  bool in_tests = true;                  // whether tests are held to it too
};

// Stand for libraries that block in their calls and know no loop of ours.
constexpr const char* kNvmlOfOthers = "tests/e2e/nvml/";
constexpr const char* kCudaOfOthers = "tests/e2e/cuda/";

const std::vector<Ban>& Bans() {
  static const std::vector<Ban> kBans = {
      {R"(::now\()", "take Time from the loop", {"base"}, false},
      {R"(\b(sleep_for|sleep_until|usleep|nanosleep)\b|[^_a-z]sleep\()",
       "wait by a timer on the loop",
       {kNvmlOfOthers, kCudaOfOthers}},
      {R"(\bpoll\((nullptr|NULL|0), 0,)",
       "wait for what is to happen: that waits for time alone",
       // At its end no loop runs any more, and the kernel says nowhere that a group is empty.
       {kNvmlOfOthers, kCudaOfOthers, "src/probes/command/"}},
      {R"([^_a-z](secure_)?getenv\()",
       "take an Environment",
       {"base", kNvmlOfOthers, kCudaOfOthers},
       true},
      {R"(std::rand\b|\bsrand\(|[^_a-zA-Z.>]rand\(\))", "take a Random", {}, true},
      {R"(\bstd::(mutex|recursive_mutex|shared_mutex)\b)",
       "use galen::Mutex, or better a Loop",
       {"base"},
       false},
      {R"(\bstd::j?thread[({]|[^_a-z]pthread_create\()", "use galen::StartThread", {"base"}, false},
      {R"(\babsl::|\bboost::|\bgrpc::)", "not one of our libraries", {}, false},
      {R"(\busing namespace (?!std::chrono_literals|std::literals|std::string_literals))",
       "name what you use",
       {}},
      {R"(\bthrow )", "return a Status", {}, false},
      // A reader asks each time which of these it means. "told" in quotes is a journal's word.
      {R"([^"a-zA-Z](tells?|told|telling)\b|(^|[^.a-zA-Z_])(Tells?|Told|Telling)[A-Z(]|\b(tell|told)_)",
       "write report, publish, notify, say or distinguish",
       {},
       false},
      // It leaves open what the sentence is about until its end.
      {R"(^ *(//|#) Of [a-zA-Z])", "begin a comment with what it says", {}},
      {R"(\b(TODO|FIXME|XXX|HACK)\b)", "do it, or write it into an issue", {}},
      {R"(DISABLED_)", "a test runs or is deleted", {}},
      // A real kubectl, root's kernel log: what a machine may lack, and `./dev test` names.
      {R"(GTEST_SKIP)", "only a test of real processes may need what is not there", {"tests/e2e/"}},
      {R"((/work/|/home/|[^a-zA-Z0-9"]/root/[a-z]))", "a path of one machine", {}},
  };
  return kBans;
}

// What is a comment or a sentence of a table is read as much as code is.
std::vector<SourceFile> SourcesAndTables() {
  std::vector<SourceFile> files = Sources();
  for (SourceFile& file : FilesEndingWith({".yaml"})) {
    if (file.path.starts_with("src/")) files.push_back(std::move(file));
  }
  return files;
}

bool IsAllowed(const Ban& ban, const SourceFile& file) {
  return std::any_of(
      ban.places_allowed.begin(), ban.places_allowed.end(), [&file](const std::string& place) {
        return place == file.Room() || (place.ends_with('/') && file.path.starts_with(place));
      });
}

TEST(Words, ThatWeDoNotUseAreNotThere) {
  Findings findings;
  const std::vector<SourceFile> files = SourcesAndTables();
  for (const Ban& ban : Bans()) {
    const std::regex pattern(ban.pattern);
    for (const SourceFile& file : files) {
      if (file.path.starts_with("tests/tidy/")) continue;
      if (IsAllowed(ban, file) || file.Room() == "bin") continue;
      if (file.IsTest() && !ban.in_tests) continue;
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        if (std::regex_search(file.lines[i], pattern)) findings.Add(file, i, ban.instead);
      }
    }
  }
  EXPECT_EQ(findings.text(), "");
}

// Mutexes outside base and shared_ptr, of what may change, need a reason on the line or in the
// comment above: all in headers; in .cc files members, and what is made by make_shared.
TEST(Words, OfSharingComeWithAReason) {
  static const std::regex kSharing(R"(^[^/]*\b(Mutex |std::shared_ptr<))");
  static const std::regex kMember(
      R"(^  +(const |mutable )*(Mutex|std::shared_ptr<(?!const ).*>) [a-z_]+( = .*)?;|\bmake_shared<(?!const ))");
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (file.IsTest() || file.Room() == "base") continue;
    const std::regex& sharing = file.IsHeader() ? kSharing : kMember;
    for (std::size_t i = 1; i < file.lines.size(); ++i) {
      if (!std::regex_search(file.lines[i], sharing)) continue;
      const bool reason = file.lines[i].find("//") != std::string::npos ||
                          file.lines[i - 1].find("//") != std::string::npos;
      if (!reason) findings.Add(file, i, "say why this is shared");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

// docs/adr/0027: what may be absent is an optional. base has the descriptor of Fd.
TEST(Words, OfHeadersNameNoNumberThatMeansNone) {
  static const std::regex kMinusOne(R"( = -1;|^ .*//.*-1(:| =| means))");
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (file.IsTest() || !file.IsHeader() || file.Room() == "base") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], kMinusOne)) findings.Add(file, i, "use std::optional");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Words, InErrorsHaveNoCapitalAndNoFailedTo) {
  static const std::regex kError(
      R"rx(\b(InvalidArgument|NotFound|Unavailable|FailedPrecondition|Internal|Annotate)\((?:[a-z_.]+, )?"(Failed|failed to|Error|Could not|could not|Unable))rx");
  Findings findings;
  for (const SourceFile& file : Sources()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], kError)) {
        findings.Add(file, i, "an error says what was being done, not that it failed");
      }
    }
  }
  EXPECT_EQ(findings.text(), "");
}

}  // namespace
}  // namespace galen::tidy
