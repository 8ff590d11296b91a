#include "tests/tidy/house.h"

#include <sstream>

#include "base/check.h"
#include "base/text.h"
#include "tests/tidy/source_tree.h"

namespace galen::tidy {
namespace {

constexpr const char* kRoomsPage = "ARCHITECTURE.md";
constexpr const char* kSubRoomsPage = "docs/sub-rooms.md";
constexpr std::size_t kRoomCells = 4;     // level, room, what it does, may include
constexpr std::size_t kSubRoomCells = 3;  // sub-room, what lives there, may include

// "base, model" as a set; "–" is none.
std::set<std::string> NamesIn(const std::string& cell) {
  std::set<std::string> names;
  if (cell == "–") return names;
  std::istringstream text(cell);
  for (std::string name; std::getline(text, name, ',');) names.emplace(Trimmed(name));
  return names;
}

bool IsHeading(const std::string& cell) {
  return cell.starts_with("--") || cell == "level" || cell == "sub-room";
}

House ReadHouse() {
  House house;
  for (const std::vector<std::string>& cells : TableRows(kRoomsPage)) {
    if (IsHeading(cells.front())) continue;
    GALEN_CHECK(cells.size() == kRoomCells);
    Room room;
    room.level = cells[0] == "–" ? 0 : std::stoi(cells[0]);
    room.may_include_all = cells[3] == "anything";
    if (!room.may_include_all) room.includes = NamesIn(cells[3]);
    for (const std::string& name : NamesIn(cells[1])) house.rooms[name] = room;
  }
  for (const std::vector<std::string>& cells : TableRows(kSubRoomsPage)) {
    if (IsHeading(cells.front())) continue;
    GALEN_CHECK(cells.size() == kSubRoomCells);
    const std::string& name = cells[0];
    const std::string room = name.substr(0, name.find('/') + 1);
    std::set<std::string>& includes = house.sub_rooms[name];
    for (const std::string& below : NamesIn(cells[2])) includes.insert(room + below);
  }
  GALEN_CHECK(house.rooms.size() > 10 && house.sub_rooms.size() > 10);
  return house;
}

}  // namespace

const House& TheHouse() {
  static const House kHouse = ReadHouse();
  return kHouse;
}

}  // namespace galen::tidy
