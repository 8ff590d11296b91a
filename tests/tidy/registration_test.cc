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

namespace galen::tidy {
namespace {

namespace fs = std::filesystem;

std::string CMakeListsOf(const SourceFile& file) {
  for (fs::path place = fs::path(file.path).parent_path(); !place.empty();
       place = place.parent_path()) {
    for (const SourceFile& list : FilesEndingWith({"CMakeLists.txt"})) {
      if (fs::path(list.path).parent_path() != place) continue;
      std::string text;
      for (const std::string& line : list.lines) text += line + "\n";
      return text;
    }
  }
  return "";
}

TEST(Registration, EverySourceIsInItsRoomsList) {
  Findings findings;
  std::map<std::string, std::string> lists;
  for (const SourceFile& file : Sources()) {
    if (file.IsHeader()) continue;
    const std::string place = fs::path(file.path).parent_path().string();
    if (!lists.contains(place)) lists[place] = CMakeListsOf(file);
    const std::string name = fs::path(file.path).filename().string();
    const std::regex entry("(^|[\\s/])" + std::regex_replace(name, std::regex("\\."), "\\.") +
                           "\\b");
    if (!std::regex_search(lists[place], entry))
      findings.Add(file, 0, "is in no CMakeLists.txt: nobody builds it");
  }
  EXPECT_EQ(findings.text(), "");
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

// "Tested by agent_app_test.cc" must lead somewhere: to a test that there is.
TEST(Registration, TestsThatSourcesNameExist) {
  static const std::regex kTest(R"([a-z0-9_]+_test\.cc)");
  std::set<std::string> names;
  for (const SourceFile& file : Sources()) names.insert(fs::path(file.path).filename().string());
  Findings findings;
  for (const SourceFile& file : Sources()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (!file.lines[i].starts_with("// Tested by ")) continue;
      const std::string& line = file.lines[i];
      for (std::sregex_iterator it(line.begin(), line.end(), kTest), end; it != end; ++it) {
        if (!names.contains(it->str())) findings.Add(file, i, "there is no test " + it->str());
      }
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
