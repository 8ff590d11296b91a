// The house as its pages have it: rooms with their levels in ARCHITECTURE.md, sub-rooms in
// docs/sub-rooms.md, and what each may include. Read from the pages' tables, so that there is one
// list of them.
#pragma once

#include <map>
#include <set>
#include <string>

namespace galen::tidy {

struct Room {
  int level = 0;                   // 0: above all others ("–" in the table)
  bool may_include_all = false;    // "anything"
  std::set<std::string> includes;  // other rooms
};

struct House {
  std::map<std::string, Room> rooms;
  // "agent/drivers" to the sub-rooms of the same room that it may include: {"agent/health"}. A
  // room's own folder is no sub-room: each sub-room may include it, and it includes none.
  std::map<std::string, std::set<std::string>> sub_rooms;
};

// Aborts the test program when a table is not as it must be.
const House& TheHouse();

}  // namespace galen::tidy
