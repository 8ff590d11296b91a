// The project's own files as lists of lines, for the rules that are tests. Read once a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace galen::tidy {

struct SourceFile {
  std::string path;  // from the root: "src/agent/health/health_cache.cc"
  std::vector<std::string> lines;

  bool IsHeader() const { return path.ends_with(".h"); }
  bool IsTest() const;  // tests, benches and fakes: what no product links
  // "agent" for "src/agent/health/health_cache.cc"; "" outside src.
  std::string Room() const;
  // The folder below src: "agent/health" for "src/agent/health/health_cache.cc", "base" for what
  // stands in a room's own folder; "" outside src.
  std::string SubRoom() const;
};

// Every .h and .cc below src, include, tests, bench and examples.
const std::vector<SourceFile>& Sources();

// Any other files below the root with one of these endings.
std::vector<SourceFile> FilesEndingWith(const std::vector<std::string>& endings);

// "src/agent/health/health_cache.cc:12: what is wrong", one a line, for a failing test's message.
class Findings {
 public:
  void Add(const SourceFile& file, std::size_t line_index, std::string_view what);
  void Add(std::string_view what);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The rows of a table in a Markdown page of the root or of docs: the texts between the bars,
// trimmed, backquotes taken off. Rows whose first cell is a heading's or a rule's come too.
std::vector<std::vector<std::string>> TableRows(const std::string& page);

// One function's place and length, as clang-format lays code out; without its head, with the
// members that a constructor starts.
struct Function {
  const SourceFile* file = nullptr;
  std::size_t first_line = 0;
  std::size_t length = 0;
};
std::vector<Function> FunctionsOf(const SourceFile& file);

}  // namespace galen::tidy
