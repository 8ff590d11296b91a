// Short files, short functions, short lines; and the distribution, printed.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/tidy/source_tree.h"

namespace galen::tidy {
namespace {

constexpr std::size_t kFileLinesMax = 400;
constexpr std::size_t kFunctionLinesMax = 60;
constexpr std::size_t kLineCharactersMax = 100;
constexpr std::size_t kProgramLinesMax = 60;

std::size_t Characters(const std::string& utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(Lengths, FilesFitInFourHundredLines) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (file.lines.size() > kFileLinesMax) {
      findings.Add(file, file.lines.size() - 1, "the file is too long: split it by nouns");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Lengths, FunctionsFitOnAScreen) {
  Findings findings;
  std::vector<std::size_t> lengths;
  for (const SourceFile& file : Sources()) {
    if (file.IsTest()) continue;
    for (const Function& function : FunctionsOf(file)) {
      lengths.push_back(function.length);
      if (function.length > kFunctionLinesMax) {
        findings.Add(file, function.first_line,
                     fmt::format("a function of {} lines", function.length));
      }
    }
  }
  ASSERT_GT(lengths.size(), 100u) << "the rule found too few functions to be right";
  std::sort(lengths.begin(), lengths.end());
  fmt::print("functions: {}, lines: median {}, p90 {}, longest {}\n", lengths.size(),
             lengths[lengths.size() / 2], lengths[lengths.size() * 9 / 10], lengths.back());
  EXPECT_EQ(findings.text(), "");
}

TEST(Lengths, AConstructorCountsFromItsFirstMember) {
  const SourceFile file{"src/a/b.cc",
                        {"A::A(int a)", "    : a_(a),", "      call_([this] {", "        Call();",
                         "      }) {", "  Begin();", "}", "void A::Begin() {", "  Go();", "}"}};
  const std::vector<Function> functions = FunctionsOf(file);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].first_line, 1u);
  EXPECT_EQ(functions[0].length, 6u);
  EXPECT_EQ(functions[1].length, 3u);
}

TEST(Lengths, LinesFitInAHundredCharacters) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      // An address or a raw text of another format cannot be broken.
      if (file.lines[i].find("http") != std::string::npos) continue;
      if (file.lines[i].find("R\"(") != std::string::npos || file.IsTest()) continue;
      if (Characters(file.lines[i]) > kLineCharactersMax)
        findings.Add(file, i, "the line is too long");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

// The stories and what brings clusters up. Rows of tables that a file writes cannot be broken.
TEST(Lengths, GoFilesAndTheirLinesAreAsShort) {
  Findings findings;
  std::size_t files = 0;
  for (const SourceFile& file : FilesEndingWith({".go"})) {
    ++files;
    if (file.lines.size() > kFileLinesMax) {
      findings.Add(file, file.lines.size() - 1, "the file is too long: split it by nouns");
    }
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].starts_with("| ")) continue;
      if (Characters(file.lines[i]) > kLineCharactersMax)
        findings.Add(file, i, "the line is too long");
    }
  }
  EXPECT_GT(files, 20u) << "the rule found too few files to be right";
  EXPECT_EQ(findings.text(), "");
}

TEST(Lengths, ProgramsOnlyNameTheirParts) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if ((file.Room() == "bin" || file.path.starts_with("examples/")) &&
        file.lines.size() > kProgramLinesMax) {
      findings.Add(file, file.lines.size() - 1, "a program's file is a list of its parts");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

struct Volume {
  std::size_t product = 0, tests = 0, comments = 0, code = 0;
};

TEST(Lengths, ArePrintedByRoom) {
  std::map<std::string, Volume> rooms;
  for (const SourceFile& file : Sources()) {
    for (const std::string& room : std::vector<std::string>{file.Room(), "all"}) {
      Volume& volume = rooms[room];
      for (const std::string& line : file.lines) {
        const std::size_t start = line.find_first_not_of(' ');
        if (start == std::string::npos) continue;
        (file.IsTest() ? volume.tests : volume.product) += 1;
        if (!file.IsTest())
          (line.compare(start, 2, "//") == 0 ? volume.comments : volume.code) += 1;
      }
    }
  }
  for (const auto& [room, volume] : rooms) {
    fmt::print("{:14} product {:6} tests {:6} comment share {:.0f} %\n", room, volume.product,
               volume.tests,
               100.0 * static_cast<double>(volume.comments) /
                   static_cast<double>(std::max<std::size_t>(1, volume.product)));
  }
  EXPECT_GT(rooms["all"].tests, 0u);
}

}  // namespace
}  // namespace galen::tidy
