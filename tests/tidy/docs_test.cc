// Pages that point to what is there and name no machine.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

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

TEST(Docs, ArchitectureFitsOnTwoPages) {
  for (const SourceFile& file : FilesEndingWith({"ARCHITECTURE.md", "README.md"})) {
    const std::size_t lines_max = file.path == "ARCHITECTURE.md" ? 100 : 140;
    EXPECT_LE(file.lines.size(), lines_max) << file.path;
  }
}

}  // namespace
}  // namespace galen::tidy
