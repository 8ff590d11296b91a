// Which room may include which: the table of ARCHITECTURE.md, checked line by line.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

namespace galen::tidy {
namespace {

const std::map<std::string, std::set<std::string>>& Edges() {
  static const std::map<std::string, std::set<std::string>> kEdges = {
      {"base", {}},
      {"protos", {}},
      {"model", {"base"}},
      {"net", {"base"}},
      {"rpc", {"base", "net"}},
      {"kube", {"base", "model", "net"}},
      {"history", {"base", "model"}},
      {"probes", {"base", "model"}},
      {"sdk", {"base", "model", "protos", "net", "rpc", "kube"}},
      {"agent", {"base", "model", "protos", "net", "rpc", "kube", "history"}},
      {"controller", {"base", "model", "kube", "history"}},
      {"web", {"base", "model", "net", "history"}},
      {"conformance", {"base", "model", "protos", "net", "rpc", "kube"}},
      {"doctor", {"base", "model", "protos", "net", "rpc", "kube", "history"}},
      {"cli",
       {"base", "model", "protos", "net", "rpc", "kube", "history", "conformance", "doctor"}},
      {"cluster_sim", {"base", "model", "net", "kube"}},
  };
  return kEdges;
}

// The room an include line names, or "" for the standard's and libraries'.
std::string IncludedRoom(const std::string& line) {
  static const std::regex kInclude(R"(^#include "([a-z_]+)/.*)");
  std::smatch match;
  if (!std::regex_match(line, match, kInclude)) return "";
  return match[1];
}

TEST(Rooms, IncludeOnlyWhatTheTableAllows) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    const auto edges = Edges().find(file.Room());
    if (edges == Edges().end() || file.IsTest()) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string room = IncludedRoom(file.lines[i]);
      if (room.empty() || room == file.Room() || !Edges().contains(room)) continue;
      if (!edges->second.contains(room)) {
        findings.Add(file, i, file.Room() + " may not include " + room);
      }
    }
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Rooms, AreAllInTheTable) {
  Findings findings;
  for (const SourceFile& file : Sources()) {
    const std::string room = file.Room();
    if (!room.empty() && room != "bin" && !Edges().contains(room)) {
      findings.Add(file, 0, "room " + room + " is not in the table of allowed includes");
    }
  }
  EXPECT_EQ(findings.text(), "");
}

TEST(Rooms, HaveNoCycle) {
  for (const auto& [room, includes] : Edges()) {
    for (const std::string& below : includes) {
      EXPECT_FALSE(Edges().at(below).contains(room)) << room << " and " << below;
    }
  }
}

TEST(Rooms, KeepLibrariesOutOfTheirHeaders) {
  static const std::regex kForeign(
      R"(^#include <(nghttp2|openssl|google/protobuf|rapidjson|yaml\.h|CLI|http_parser|grpc).*)");
  Findings findings;
  for (const SourceFile& file : Sources()) {
    // net's and base's own *_internal.h and the sessions over nghttp2 are seen by net's .cc files
    // only.
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
