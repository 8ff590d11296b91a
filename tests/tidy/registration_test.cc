// Every file is built, every test is run, every class says what it is.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "tests/tidy/source_tree.h"
#include "tests/tidy/test_lists.h"

namespace galen::tidy {
namespace {

namespace fs = std::filesystem;

// What else builds and runs a test than galen_test.
const std::map<std::string, std::string>& RunOtherwise() {
  static const std::map<std::string, std::string> kFiles = {
      {"tests/e2e/upgrade_test.cc", "./dev upgrade, which has the programs of an earlier release"},
  };
  return kFiles;
}

// What else is compiled than what a list names.
const std::map<std::string, std::string>& BuiltOtherwise() {
  static const std::map<std::string, std::string> kFiles = {
      {"tests/fuzz/fuzz_entry.cc", "galen_fuzz of cmake/GalenFuzz.cmake, once a target"},
  };
  return kFiles;
}

TEST(Registration, EverySourceIsInAList) {
  const std::set<std::string> listed = ListedSources();
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (file.IsHeader() || BuiltOtherwise().contains(file.path)) continue;
    if (!listed.contains(file.path))
      findings.Add(file, 0, "is in no CMakeLists.txt: nobody builds it");
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Registration, EveryTestIsAPartOfATestProgram) {
  const std::map<std::string, std::string> programs = TestPrograms();
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (!file.path.ends_with("_test.cc")) continue;
    if (programs.contains(file.path) == RunOtherwise().contains(file.path))
      findings.Add(file, 0, "is in the SRCS of no galen_test, or of one and run otherwise, too");
  }
  EXPECT_GT(programs.size(), 500u) << "the rule found too few lists to be right";
  EXPECT_EQ(findings.text(), "");
}

TEST(Registration, ACommentAndANameElsewhereRegisterNothing) {
  const SourceFile list{
      "tests/x/CMakeLists.txt",
      {"# galen_test(a_test SRCS comment_test.cc)", "set(more more_test.cc)", "galen_test(b_test",
       "  SRCS # what_test.cc", "    sub/real_test.cc ${more}",
       "  DEPS dep_test.cc READS_SOURCES read_test.cc)", "galen_library(x SRCS library_test.cc)"}};
  std::map<std::string, std::string> programs;
  AddTestPrograms(list, programs);
  const std::map<std::string, std::string> wanted = {{"tests/x/sub/real_test.cc", "b_test"},
                                                     {"tests/x/more_test.cc", "b_test"}};
  EXPECT_EQ(programs, wanted);
}

// Files of one unit are neighbours (docs/adr/0020): the list's own folder first, then by path.
TEST(Registration, ListsOfSourcesAreSorted) {
  static const std::set<std::string> kBegins = {"SRCS", "STATIC", "SHARED"};
  Findings findings;
  std::size_t names = 0;
  for (const SourceFile& list : FilesEndingWith({"CMakeLists.txt"})) {
    bool in_list = false;
    std::pair<bool, std::string> last;
    for (std::size_t i = 0; i < list.lines.size(); ++i) {
      std::istringstream line(list.lines[i]);
      for (std::string word; line >> word;) {
        word = word.substr(0, word.find(')'));
        if (!word.ends_with(".cc")) {
          in_list = kBegins.contains(word) || (in_list && word.starts_with("${"));
          if (kBegins.contains(word)) last = {};
          continue;
        }
        if (!in_list) continue;
        const std::pair<bool, std::string> name{word.find('/') != std::string::npos, word};
        if (name < last) findings.Add(list, i, word + " comes before " + last.second);
        last = name;
        ++names;
      }
    }
  }
  EXPECT_GT(names, 500u) << "the rule found too few lists to be right";
  EXPECT_EQ(findings.text(), "");
}

TEST(Registration, EverySourceHasATestBesideIt) {
  std::set<std::string> paths;
  for (const SourceFile& file : Sources()) paths.insert(file.path);
  Findings findings;
  for (const SourceFile& file : Sources()) {
    const std::string room = file.Room();
    if (file.IsTest() || file.IsHeader() || room.empty() || room == "bin") continue;
    const std::string stem = file.path.substr(0, file.path.size() - 3);
    if (paths.contains(stem + "_test.cc")) continue;
    // A source that says where it is tested instead.
    const bool says =
        std::any_of(file.lines.begin(), file.lines.end(),
                    [](const std::string& line) { return line.starts_with("// Tested by "); });
    if (!says) findings.Add(file, 0, "has no _test.cc beside it and no line \"// Tested by …\"");
  }
  EXPECT_EQ(findings.text(), "");
}

// "Tested by agent_app_test.cc" must lead somewhere: to a test that is run. A name alone is one of
// the same room, of which there may be several; with folders before it, it is one path.
TEST(Registration, TestsThatSourcesNameAreRun) {
  static const std::regex kTest(R"([A-Za-z0-9_/]+_test\.(cc|go))");
  std::set<std::string> run;
  for (const auto& [path, program] : TestPrograms()) run.insert(path);
  for (const SourceFile& file : FilesEndingWith({"_test.go"})) run.insert(file.path);
  Findings findings;
  for (const SourceFile& file : Sources()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (!file.lines[i].starts_with("// Tested by ")) continue;
      const std::string& line = file.lines[i];
      std::size_t named = 0;
      for (std::sregex_iterator it(line.begin(), line.end(), kTest), end; it != end; ++it) {
        ++named;
        const std::string name = it->str(), room = "src/" + file.Room() + "/";
        const bool is_path = name.find('/') != std::string::npos;
        const bool is_run = std::any_of(run.begin(), run.end(), [&](const std::string& path) {
          return is_path ? path == name || path == "src/" + name
                         : path.starts_with(room) && path.ends_with("/" + name);
        });
        if (!is_run) findings.Add(file, i, "no test that is run has the path " + name);
      }
      if (named == 0) findings.Add(file, i, "name the file of a test");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

// What a reader cannot read, and what is built again on every machine, is not kept with the source.
TEST(Registration, NoBuiltProgramLiesBetweenTheSources) {
  static const std::set<std::string> kNotSource = {".git", ".cache", "build"};
  Findings findings;
  for (fs::recursive_directory_iterator it(GALEN_SOURCE_DIR), end; it != end; ++it) {
    if (it->is_directory() && kNotSource.contains(it->path().filename().string())) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    char start[4] = {};
    std::ifstream(it->path(), std::ios::binary).read(start, sizeof start);
    const std::string_view magic(start, sizeof start);  // ELF, and the archive of a static library
    if (magic ==
            "\x7f"
            "ELF" ||
        magic == "!<ar")
      findings.Add(it->path().string() + " is a built program: delete it");
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Registration, HeadersAreGuardedAndSayWhatTheyAre) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (!file.IsHeader()) continue;
    if (file.lines.empty() || !file.lines[0].starts_with("//")) {
      findings.Add(file, 0, "the top of a header says what the thing is");
    }
    const bool once = std::any_of(file.lines.begin(), file.lines.end(),
                                  [](const std::string& line) { return line == "#pragma once"; });
    if (!once) findings.Add(file, 0, "#pragma once is missing");
  }
  EXPECT_EQ(findings.text(), "");
}

// A paragraph that belongs to no declaration begins a part of the header: who reads on sees it by
// the dashes, and does not look for what it is about.
TEST(Registration, PartsOfHeadersBeginWithDashes) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (!file.IsHeader() || file.IsTest()) continue;
    bool in_head = true;
    for (std::size_t i = 1, first = 0; i < file.lines.size(); ++i) {
      in_head = in_head && file.lines[i] != "#pragma once";
      const bool comment = file.lines[i].starts_with("//");
      if (comment && !file.lines[i - 1].starts_with("//")) first = i;
      if (in_head || !file.lines[i].empty() || !file.lines[i - 1].starts_with("//")) continue;
      if (!file.lines[first].starts_with("// ---- "))
        findings.Add(file, first, "put it above what it describes, or begin it with // ----");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

// "ClaimIndex" for "src/agent/holdings/claim_index.h": the type that the head of the file is about.
std::string NamesakeOf(const SourceFile& file) {
  std::string name;
  bool starts_word = true;
  for (const char c : fs::path(file.path).stem().string()) {
    if (c != '_') name += starts_word ? static_cast<char>(std::toupper(c)) : c;
    starts_word = c == '_';
  }
  return name;
}

// Every type that a header exports needs a comment above it, but for the file's namesake, which the
// head of the file describes.
TEST(Registration, ExportedTypesSayWhatTheyAre) {
  static const std::regex kType(
      R"(^(class|struct|enum class) (GALEN_\w+ )?(\w+)( final)?( : .*)? \{.*)");
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (!file.IsHeader() || file.IsTest()) continue;
    for (std::size_t i = 1; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_match(file.lines[i], match, kType)) continue;
      std::size_t above = i - 1;
      while (above > 0 && file.lines[above].starts_with("template")) --above;
      if (!file.lines[above].starts_with("//") && match[3] != NamesakeOf(file))
        findings.Add(file, i, "say above " + match.str(3) + " what it is");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

}  // namespace
}  // namespace galen::tidy
