// Which room may include which, which sub-room which, and how large each may be: the tables of
// ARCHITECTURE.md, of docs/sub-rooms.md and of the budget's record, checked line by line.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

namespace galen::tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFolderLinesMax = 4000;
constexpr std::size_t kFolderFilesMax = 40;
constexpr const char* kBudget = "docs/adr/0018-sub-rooms-and-a-budget-of-lines.md";

// The folder below src that an include line names, or "" for the standard's and libraries'.
std::string IncludedFolder(const std::string& line) {
  static const std::regex kInclude(R"re(^#include "([a-z_0-9/]+)/[a-z_0-9.]+\.h".*)re");
  std::smatch match;
  if (!std::regex_match(line, match, kInclude)) return "";
  return match[1];
}

std::string RoomOf(const std::string& folder) { return folder.substr(0, folder.find('/')); }

bool IsProduct(const SourceFile& file) { return !file.Room().empty() && !file.IsTest(); }

using Edges = std::map<std::string, std::set<std::string>>;

// Which other rooms each room's product files include.
Edges RoomsIncluded() {
  Edges included;
  for (const SourceFile& file : Sources()) {
    if (!IsProduct(file)) continue;
    for (const std::string& line : file.lines) {
      const std::string other = RoomOf(IncludedFolder(line));
      if (other != file.Room() && TheHouse().rooms.contains(other)) {
        included[file.Room()].insert(other);
      }
    }
  }
  return included;
}

// Which folders of their own room the product files of each folder include.
Edges FoldersIncluded() {
  Edges included;
  for (const SourceFile& file : Sources()) {
    if (!IsProduct(file)) continue;
    for (const std::string& line : file.lines) {
      const std::string folder = IncludedFolder(line);
      if (RoomOf(folder) == file.Room()) included[file.SubRoom()].insert(folder);
    }
  }
  return included;
}

TEST(Rooms, IncludeOnlyWhatTheTableAllows) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    const auto room = TheHouse().rooms.find(file.Room());
    if (!IsProduct(file) || room == TheHouse().rooms.end() || room->second.may_include_all)
      continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string other = RoomOf(IncludedFolder(file.lines[i]));
      if (other == file.Room() || !TheHouse().rooms.contains(other)) continue;
      if (!room->second.includes.contains(other)) {
        findings.Add(file, i, file.Room() + " may not include " + other);
      }
    }
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Rooms, IncludeOfTheirOwnSubRoomsOnlyWhatTheTableAllows) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (!IsProduct(file)) continue;
    const std::string from = file.SubRoom();
    const auto row = TheHouse().sub_rooms.find(from);
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string to = IncludedFolder(file.lines[i]);
      if (to == from || RoomOf(to) != file.Room() || to == file.Room()) continue;
      if (row == TheHouse().sub_rooms.end() || !row->second.contains(to)) {
        findings.Add(file, i, from + " may not include " + to);
      }
    }
  }
  EXPECT_EQ(findings.text(), "");
}

// An edge that nothing uses says of the house what is not so, and lets in what nobody looked at.
TEST(Rooms, IncludeAllThatTheTablesAllow) {
  Findings findings;
  Edges included = RoomsIncluded();
  for (const auto& [name, room] : TheHouse().rooms) {
    for (const std::string& other : room.includes) {
      if (!included[name].contains(other))
        findings.Add("ARCHITECTURE.md: " + name + " does not include " + other);
    }
  }
  included = FoldersIncluded();
  for (const auto& [name, others] : TheHouse().sub_rooms) {
    for (const std::string& other : others) {
      if (!included[name].contains(other))
        findings.Add("docs/sub-rooms.md: " + name + " does not include " + other);
    }
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Rooms, AreAllInTheTables) {
  Findings findings;
  std::set<std::string> folders;
  for (const SourceFile& file : Sources()) {
    if (file.Room().empty()) continue;
    folders.insert(file.SubRoom());
    if (!TheHouse().rooms.contains(file.Room())) {
      findings.Add(file, 0, "room " + file.Room() + " is not in ARCHITECTURE.md");
    }
    if (file.SubRoom() != file.Room() && !TheHouse().sub_rooms.contains(file.SubRoom())) {
      findings.Add(file, 0, "sub-room " + file.SubRoom() + " is not in docs/sub-rooms.md");
    }
  }
  for (const auto& [name, includes] : TheHouse().sub_rooms) {
    if (!folders.contains(name)) findings.Add("docs/sub-rooms.md has " + name + ", src has not");
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Rooms, IncludeOnlyLowerLevels) {
  for (const auto& [name, room] : TheHouse().rooms) {
    for (const std::string& below : room.includes) {
      ASSERT_TRUE(TheHouse().rooms.contains(below)) << name << " includes " << below;
      EXPECT_LT(TheHouse().rooms.at(below).level, room.level) << name << " and " << below;
    }
  }
}

TEST(Rooms, HaveNoCycle) {
  Edges edges = TheHouse().sub_rooms;
  for (const auto& [name, room] : TheHouse().rooms) edges[name] = room.includes;
  // Warshall: whatever is reached over something is reached.
  for (const auto& [over, unused] : edges) {
    for (auto& [name, reached] : edges) {
      if (reached.contains(over)) reached.insert(edges[over].begin(), edges[over].end());
    }
  }
  for (const auto& [name, reached] : edges) EXPECT_FALSE(reached.contains(name)) << name;
}

// What a room's library links is what its files include: no more, and no less.
TEST(Rooms, LinkWhatTheyInclude) {
  Edges included = RoomsIncluded();
  static const std::regex kLibrary(R"(galen_library\((\w+)\s([^)]*)\))");
  static const std::regex kRoom(R"(galen::(\w+))");
  std::size_t libraries = 0;
  for (const SourceFile& list : FilesEndingWith({"CMakeLists.txt"})) {
    const std::string room = fs::path(list.path).parent_path().filename();
    if (!list.path.starts_with("src/") || !TheHouse().rooms.contains(room)) continue;
    std::string text;
    for (const std::string& line : list.lines) text += line + "\n";
    std::smatch library;
    if (!std::regex_search(text, library, kLibrary) || room == "bin") continue;
    ++libraries;
    std::set<std::string> linked;
    const std::string body = library[2];
    for (std::sregex_iterator it(body.begin(), body.end(), kRoom), end; it != end; ++it) {
      linked.insert((*it)[1]);
    }
    EXPECT_EQ(linked, included[room]) << list.path;
  }
  EXPECT_GT(libraries, 12u);
}

TEST(Rooms, AndTheirFoldersStaySmallEnoughToKnow) {
  std::map<std::string, std::size_t> files, lines;
  for (const SourceFile& file : Sources()) {
    if (!IsProduct(file)) continue;
    files[file.SubRoom()] += 1;
    lines[file.SubRoom()] += file.lines.size();
  }
  for (const auto& [folder, count] : files) {
    EXPECT_LE(count, kFolderFilesMax) << folder << ": make sub-rooms of it";
    EXPECT_LE(lines[folder], kFolderLinesMax) << folder << ": make sub-rooms of it";
  }
}

TEST(Rooms, KeepToTheirBudgets) {
  std::map<std::string, std::size_t> lines, budget;
  for (const SourceFile& file : Sources()) {
    if (IsProduct(file)) lines[file.Room()] += file.lines.size();
  }
  static const std::regex kNumber("[0-9]+");
  for (const std::vector<std::string>& cells : TableRows(kBudget)) {
    if (cells.size() >= 2 && std::regex_match(cells[1], kNumber)) {
      budget[cells[0]] = std::stoul(cells[1]);
    }
  }
  for (const auto& [room, count] : lines) {
    ASSERT_TRUE(budget.contains(room)) << kBudget << " has no budget for " << room;
    EXPECT_LE(count, budget[room])
        << room << ": make it smaller, or say in " << kBudget << " why it needs more";
  }
}

TEST(Rooms, KeepLibrariesOutOfTheirHeaders) {
  static const std::regex kForeign(
      R"(^#include <(nghttp2|openssl|google/protobuf|rapidjson|yaml\.h|CLI|http_parser|grpc).*)");
  Findings findings;
  for (const SourceFile& file : Sources()) {
    // The sessions over nghttp2 and OpenSSL are seen by net's own .cc files only.
    if (!file.IsHeader() || file.IsTest() || file.Room() == "net") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_match(file.lines[i], kForeign))
        findings.Add(file, i, "belongs into a .cc file");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Rooms, PublicHeadersIncludeTheStandardOnly) {
  static const std::regex kQuoted(R"(^#include (".*"|<galen/.*>).*)");
  Findings findings;
  for (const SourceFile& file : Sources()) {
    if (!file.path.starts_with("include/")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_match(file.lines[i], kQuoted)) {
        findings.Add(file, i, "a driver's author has only the standard library");
      }
    }
  }
  EXPECT_EQ(findings.text(), "");
}

}  // namespace
}  // namespace galen::tidy
