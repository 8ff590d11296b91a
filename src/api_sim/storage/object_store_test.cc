#include "api_sim/storage/object_store.h"

#include <gtest/gtest.h>

namespace galen::api_sim {
namespace {

constexpr const char* kPods = "/pods";

Json Object(std::string_view ns, std::string_view name, int value = 0) {
  return Json::MakeObject(
      {{"metadata", Json::MakeObject({{"namespace", ns}, {"name", name}})}, {"value", value}});
}

std::vector<std::string> Names(const std::vector<Snapshot>& objects) {
  std::vector<std::string> names;
  for (const Snapshot& object : objects) names.push_back((*object)["metadata"]["name"].AsString());
  return names;
}

TEST(ObjectStore, StampsEachWriteWithAHigherVersion) {
  ObjectStore store({.first_version = 10});
  EXPECT_EQ((*store.Put(kPods, {"a", "p"}, Object("a", "p")))["metadata"]["resourceVersion"],
            Json("11"));
  EXPECT_EQ((*store.Put("/nodes", {"", "n"}, Object("", "n")))["metadata"]["resourceVersion"],
            Json("12"));
  EXPECT_EQ((*store.Remove(kPods, {"a", "p"}))["metadata"]["resourceVersion"], Json("13"));
  EXPECT_EQ(store.Get(kPods, {"a", "p"}), nullptr);
}

TEST(ObjectStore, ListsANamespaceOrAll) {
  ObjectStore store({});
  store.Put(kPods, {"b", "1"}, Object("b", "1"));
  store.Put(kPods, {"a", "2"}, Object("a", "2"));
  store.Put(kPods, {"ab", "3"}, Object("ab", "3"));
  EXPECT_EQ(Names(store.List(kPods, "a")), std::vector<std::string>{"2"});
  EXPECT_EQ(Names(store.List(kPods, "")), (std::vector<std::string>{"2", "3", "1"}));
}

TEST(ObjectStore, ShowsThePastAsItWas) {
  ObjectStore store({});
  store.Put(kPods, {"a", "kept"}, Object("a", "kept", 1));
  store.Put(kPods, {"a", "gone"}, Object("a", "gone"));
  const std::uint64_t then = store.version();
  store.Put(kPods, {"a", "kept"}, Object("a", "kept", 2));
  store.Remove(kPods, {"a", "gone"});
  store.Put(kPods, {"a", "new"}, Object("a", "new"));
  const auto past = store.ListAt(kPods, "a", then);
  ASSERT_TRUE(past.has_value());
  EXPECT_EQ(Names(*past), (std::vector<std::string>{"gone", "kept"}));
  EXPECT_EQ((*past->back())["value"].AsInt(), 1);
}

TEST(ObjectStore, GivesChangesInOrderAndForgetsTheOldest) {
  ObjectStore store({.first_version = 0, .history_max = 2});
  for (int i = 1; i <= 3; ++i) store.Put(kPods, {"a", "p"}, Object("a", "p", i));
  EXPECT_EQ(store.OldestKnown(kPods), 1u);
  EXPECT_FALSE(store.ListAt(kPods, "", 0).has_value());
  const Change* change = store.NextChange(kPods, 1);
  ASSERT_NE(change, nullptr);
  EXPECT_EQ((*change->before)["value"].AsInt(), 1);
  EXPECT_EQ((*change->after)["value"].AsInt(), 2);
  EXPECT_EQ(store.NextChange(kPods, change->version)->version, 3u);
  EXPECT_EQ(store.NextChange(kPods, 3), nullptr);
}

TEST(ObjectStore, KnowsNothingBeforeItsStart) {
  ObjectStore store({.first_version = 5});
  store.Load(kPods, {"a", "p"}, Object("a", "p"));
  store.StartAt(100);
  EXPECT_EQ(store.OldestKnown(kPods), 100u);
  EXPECT_FALSE(store.ListAt(kPods, "", 99).has_value());
  EXPECT_EQ(store.ListAt(kPods, "", 100)->size(), 1u);
}

}  // namespace
}  // namespace galen::api_sim
