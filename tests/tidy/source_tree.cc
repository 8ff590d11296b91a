#include "tests/tidy/source_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "base/text.h"

namespace galen::tidy {
namespace {

namespace fs = std::filesystem;

const fs::path& Root() {
  static const fs::path kRoot(GALEN_SOURCE_DIR);
  return kRoot;
}

SourceFile ReadFile(const fs::path& path) {
  SourceFile file{fs::relative(path, Root()).string(), {}};
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) file.lines.push_back(std::move(line));
  return file;
}

std::vector<SourceFile> ReadTree(const std::vector<std::string>& places,
                                 const std::vector<std::string>& endings) {
  std::vector<SourceFile> files;
  for (const std::string& place : places) {
    if (!fs::exists(Root() / place)) continue;
    for (auto it = fs::recursive_directory_iterator(Root() / place);
         it != fs::recursive_directory_iterator(); ++it) {
      const std::string name = it->path().filename().string();
      if (it->is_directory() && (name == "build" || name == ".git")) it.disable_recursion_pending();
      if (!it->is_regular_file()) continue;
      const bool wanted = std::any_of(endings.begin(), endings.end(),
                                      [&](const std::string& end) { return name.ends_with(end); });
      if (wanted) files.push_back(ReadFile(it->path()));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

// Where code that starts at `indent` ends: the first line that is a closing brace at that indent.
std::size_t EndOf(const SourceFile& file, std::size_t start, const std::string& indent) {
  for (std::size_t i = start + 1; i < file.lines.size(); ++i) {
    if (file.lines[i].starts_with(indent + "}")) return i;
  }
  return file.lines.size() - 1;
}

// A definition's first line ends in "{", its head holds "(", and it is no type, namespace or
// control.
bool OpensFunction(const SourceFile& file, std::size_t i, const std::string& indent) {
  static const std::regex kNoFunction(
      R"(^\s*(namespace|class|struct|union|enum|extern|if|for|while|switch|else|do|return|case|\}|//|using|const .* = |constexpr .* = |static .* = |inline const .* = |auto .* = |TEST).*)");
  const std::string& line = file.lines[i];
  if (!line.ends_with("{") || !line.starts_with(indent)) return false;
  // Walk back over a head that is broken into several lines.
  std::size_t head = i;
  while (head > 0 && file.lines[head].starts_with(indent + "  ")) --head;
  const std::string& first = file.lines[head];
  if (!first.starts_with(indent) || first.size() <= indent.size()) return false;
  if (first[indent.size()] == ' ' || std::regex_match(first, kNoFunction)) return false;
  return first.find('(') != std::string::npos || line.find(')') != std::string::npos;
}

// Where the code of the function begins that opens in line `opens`: there, or with a constructor's
// first member, which may be the line of the first brace itself.
std::size_t StartOf(const SourceFile& file, std::size_t opens, const std::string& indent) {
  for (std::size_t i = opens; i > 0 && file.lines[i].starts_with(indent + "  "); --i) {
    if (Trimmed(file.lines[i]).starts_with(": ")) return i;
  }
  return opens;
}

}  // namespace

bool SourceFile::IsTest() const {
  const std::string name = fs::path(path).filename().string();
  return name.ends_with("_test.cc") || name.starts_with("fake_") || name.starts_with("test_") ||
         path.starts_with("tests/") || path.starts_with("bench/");
}

std::string SourceFile::Room() const {
  if (!path.starts_with("src/")) return "";
  return path.substr(4, path.find('/', 4) - 4);
}

std::string SourceFile::SubRoom() const {
  if (!path.starts_with("src/")) return "";
  return path.substr(4, path.rfind('/') - 4);
}

const std::vector<SourceFile>& Sources() {
  static const std::vector<SourceFile> kFiles =
      ReadTree({"src", "include", "tests", "bench", "examples"}, {".h", ".cc"});
  return kFiles;
}

std::vector<SourceFile> FilesEndingWith(const std::vector<std::string>& endings) {
  return ReadTree({"."}, endings);
}

std::vector<std::vector<std::string>> TableRows(const std::string& page) {
  std::vector<std::vector<std::string>> rows;
  for (std::string line : ReadFile(Root() / page).lines) {
    if (!line.starts_with("|") || !line.ends_with("|")) continue;
    std::erase(line, '`');
    std::vector<std::string> cells;
    for (std::size_t from = 1, to; (to = line.find('|', from)) != std::string::npos;
         from = to + 1) {
      cells.emplace_back(Trimmed(std::string_view(line).substr(from, to - from)));
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

void Findings::Add(const SourceFile& file, std::size_t line_index, std::string_view what) {
  text_ += fmt::format("\n{}:{}: {}", file.path, line_index + 1, what);
}

void Findings::Add(std::string_view what) { text_ += fmt::format("\n{}", what); }

std::vector<Function> FunctionsOf(const SourceFile& file) {
  std::vector<Function> functions;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    for (const char* indent_text : {"", "  "}) {
      const std::string indent(indent_text);
      if (!OpensFunction(file, i, indent)) continue;
      const std::size_t end = EndOf(file, i, indent);
      const std::size_t start = StartOf(file, i, indent);
      functions.push_back({&file, start, end - start + 1});
      if (indent.empty()) i = end;
      break;
    }
  }
  return functions;
}

}  // namespace galen::tidy
