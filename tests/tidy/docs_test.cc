// Pages that point to what is there and name no machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "tests/tidy/source_tree.h"

namespace galen::tidy {
namespace {

namespace fs = std::filesystem;

TEST(Docs, LinkToFilesThatExist) {
  static const std::regex kLink(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  Findings findings;
  for (const SourceFile& file : FilesEndingWith({".md"})) {
    const fs::path place = fs::path(GALEN_SOURCE_DIR) / fs::path(file.path).parent_path();
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (std::sregex_iterator it(file.lines[i].begin(), file.lines[i].end(), kLink), end;
           it != end; ++it) {
        if (!fs::exists(place / (*it)[1].str()))
          findings.Add(file, i, "no such file: " + (*it)[1].str());
      }
    }
  }
  EXPECT_EQ(findings.text(), "");
}

// A path in backquotes that looks like one of ours must be one.
TEST(Docs, NameFilesThatExist) {
  static const std::regex kPath(
      R"(`((?:src|tests|docs|include|cmake|deploy|examples|bench)/[A-Za-z0-9_./-]+)`)");
  Findings findings;
  for (const SourceFile& file : FilesEndingWith({".md"})) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (std::sregex_iterator it(file.lines[i].begin(), file.lines[i].end(), kPath), end;
           it != end; ++it) {
        if (!fs::exists(fs::path(GALEN_SOURCE_DIR) / (*it)[1].str())) {
          findings.Add(file, i, "no such file: " + (*it)[1].str());
        }
      }
    }
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Docs, HoldNoPathOfAMachine) {
  static const std::regex kMachine(R"((/work/|/home/[a-z]|/tmp/[a-z0-9]{6,}/))");
  Findings findings;
  for (const SourceFile& file : FilesEndingWith({".md", ".yaml", ".cmake", ".txt", ".proto"})) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], kMachine))
        findings.Add(file, i, "a path of one machine");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

// A page of figures that is older than what galen-bench measures promises figures it lacks.
TEST(Docs, FiguresHaveEachPartOfTheBench) {
  static const std::regex kPart(R"re(\{"([a-z]+)", Measure)re");
  std::string page;
  for (const SourceFile& file : FilesEndingWith({"figures.md"})) {
    for (const std::string& line : file.lines) page += line + "\n";
  }
  Findings findings;
  std::size_t parts = 0;
  for (const SourceFile& file : Sources()) {
    if (file.path != "bench/part_list.cc") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch found;
      if (!std::regex_search(file.lines[i], found, kPart)) continue;
      ++parts;
      if (page.find("- **" + found[1].str() + "**:") == std::string::npos) {
        findings.Add(file, i, "figures.md lacks it: run ./dev bench");
      }
    }
  }
  EXPECT_GE(parts, 10u);
  EXPECT_EQ(findings.text(), "");
}

// Columns, not bytes: what follows a first byte of UTF-8 is not counted.
std::size_t ColumnsOf(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Two pages as somebody holds them: a row of a table that is as long as four lines counts as four.
TEST(Docs, ArchitectureFitsOnTwoPages) {
  constexpr std::size_t kWordsMax = 1000, kLinesMax = 110, kColumns = 100;
  std::size_t words = 0, lines = 0;
  for (const SourceFile& file : FilesEndingWith({"ARCHITECTURE.md"})) {
    for (const std::string& line : file.lines) {
      std::istringstream text(line);
      for (std::string word; text >> word;) ++words;
      lines += std::max<std::size_t>(1, (ColumnsOf(line) + kColumns - 1) / kColumns);
    }
  }
  EXPECT_GT(words, 100u) << "the page was not found";
  EXPECT_LE(words, kWordsMax);
  EXPECT_LE(lines, kLinesMax) << "wrapped at " << kColumns << " columns";
}

TEST(Docs, TheReadmeIsReadInOneSitting) {
  for (const SourceFile& file : FilesEndingWith({"README.md"})) {
    EXPECT_LE(file.lines.size(), 140u) << file.path;
  }
}

}  // namespace
}  // namespace galen::tidy
