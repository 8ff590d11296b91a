// Tested by tests/tidy/registration_test.cc.
#include "tests/tidy/test_lists.h"

#include <filesystem>
#include <regex>
#include <sstream>
#include <vector>

namespace galen::tidy {
namespace {

namespace fs = std::filesystem;

std::string WithoutComments(const SourceFile& list) {
  std::string text;
  for (const std::string& line : list.lines) text += line.substr(0, line.find('#')) + "\n";
  return text;
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

std::string PathOf(const SourceFile& list, const std::string& word) {
  return (fs::path(list.path).parent_path() / word).lexically_normal().string();
}

// "more" with what `set(more a.cc b.cc)` gave it.
std::map<std::string, std::vector<std::string>> VariablesOf(const std::string& text) {
  static const std::regex kSet(R"(\bset\((\w+)\s([^()]*)\))");
  std::map<std::string, std::vector<std::string>> variables;
  for (std::sregex_iterator it(text.begin(), text.end(), kSet), end; it != end; ++it) {
    variables[(*it)[1]] = WordsOf((*it)[2]);
  }
  return variables;
}

}  // namespace

void AddTestPrograms(const SourceFile& list, std::map<std::string, std::string>& programs) {
  static const std::regex kTest(R"(\bgalen_test\((\w+)\s([^()]*)\))");
  static const std::regex kKeyword("[A-Z_]+");
  const std::string text = WithoutComments(list);
  const std::map<std::string, std::vector<std::string>> variables = VariablesOf(text);
  for (std::sregex_iterator it(text.begin(), text.end(), kTest), end; it != end; ++it) {
    bool is_source = false;
    for (const std::string& word : WordsOf((*it)[2])) {
      if (std::regex_match(word, kKeyword)) {
        is_source = word == "SRCS";
      } else if (is_source && word.starts_with("${")) {
        const auto variable = variables.find(word.substr(2, word.size() - 3));
        if (variable == variables.end()) continue;
        for (const std::string& source : variable->second) {
          programs[PathOf(list, source)] = (*it)[1];
        }
      } else if (is_source) {
        programs[PathOf(list, word)] = (*it)[1];
      }
    }
  }
}

std::map<std::string, std::string> TestPrograms() {
  std::map<std::string, std::string> programs;
  for (const SourceFile& list : FilesEndingWith({"CMakeLists.txt"})) {
    AddTestPrograms(list, programs);
  }
  return programs;
}

std::set<std::string> ListedSources() {
  std::set<std::string> paths;
  for (const SourceFile& list : FilesEndingWith({"CMakeLists.txt"})) {
    std::string text = WithoutComments(list);
    for (char& c : text) c = c == '(' || c == ')' ? ' ' : c;
    for (const std::string& word : WordsOf(text)) {
      if (word.ends_with(".cc")) paths.insert(PathOf(list, word));
    }
  }
  return paths;
}

}  // namespace galen::tidy
