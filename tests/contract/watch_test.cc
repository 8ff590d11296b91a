// Watches: order, selection, versions, bookmarks, ends.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string VersionOf(const std::string& collection) {
  return TheApi().Get(collection).body["metadata"]["resourceVersion"].AsString();
}

std::string From(const std::string& collection, const std::string& version) {
  return collection + "?watch=true&resourceVersion=" + version;
}

// "ADDED a", or "" when nothing came.
std::string NextEvent(Watch& watch) {
  const std::optional<Json> event = watch.Next();
  if (!event) return "";
  return (*event)["type"].AsString() + " " + (*event)["object"]["metadata"]["name"].AsString();
}

TEST(Watch, SendsEachChangeInOrder) {
  const Namespace ns;
  const auto watch = TheApi().StartWatch(From(ns.Pods(), VersionOf(ns.Pods())));
  TheApi().Post(ns.Pods(), MakePod("a"));
  TheApi().Patch(ns.Pod("a"), kMergePatch, R"({"metadata": {"labels": {"a": "b"}}})");
  TheApi().Delete(ns.Pod("a"));
  EXPECT_EQ(NextEvent(*watch), "ADDED a");
  EXPECT_EQ(NextEvent(*watch), "MODIFIED a");
  // Also a Pod that nobody runs is marked before it goes.
  const std::optional<Json> marked = watch->Next();
  ASSERT_TRUE(marked.has_value());
  EXPECT_EQ((*marked)["type"].AsString(), "MODIFIED");
  EXPECT_TRUE((*marked)["object"]["metadata"].Has("deletionTimestamp"));
  EXPECT_EQ((*marked)["object"]["metadata"]["deletionGracePeriodSeconds"].AsInt(), 0);
  EXPECT_EQ(NextEvent(*watch), "DELETED a");
}

TEST(Watch, GoesOnWhereTheListEnded) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("before"));
  const std::string version = VersionOf(ns.ConfigMaps());
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("between"));
  const auto watch = TheApi().StartWatch(From(ns.ConfigMaps(), version));
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("later"));
  EXPECT_EQ(NextEvent(*watch), "ADDED between");
  EXPECT_EQ(NextEvent(*watch), "ADDED later");
}

TEST(Watch, WithoutAVersionBeginsWithWhatThereIs) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const auto watch = TheApi().StartWatch(ns.Pods() + "?watch=true");
  EXPECT_EQ(NextEvent(*watch), "ADDED a");
}

TEST(Watch, SaysDeletedWhenAnObjectLeavesTheSelection) {
  const Namespace ns;
  const auto watch =
      TheApi().StartWatch(From(ns.Pods(), VersionOf(ns.Pods())) + "&labelSelector=tier%3Dgold");
  TheApi().Post(ns.Pods(), MakePod("a"));
  TheApi().Patch(ns.Pod("a"), kMergePatch, R"({"metadata": {"labels": {"tier": "gold"}}})");
  TheApi().Patch(ns.Pod("a"), kMergePatch, R"({"metadata": {"labels": {"tier": "lead"}}})");
  TheApi().Patch(ns.Pod("a"), kMergePatch, R"({"metadata": {"labels": {"tier": "tin"}}})");
  EXPECT_EQ(NextEvent(*watch), "ADDED a");
  EXPECT_EQ(NextEvent(*watch), "DELETED a");
  EXPECT_FALSE(watch->Next(milliseconds(200)).has_value());
}

TEST(Watch, SelectsByFieldAndNamespace) {
  const Namespace ns;
  const Namespace other;
  const auto watch = TheApi().StartWatch(From(ns.Pods(), VersionOf(ns.Pods())) +
                                         "&fieldSelector=metadata.name%3Dwanted");
  TheApi().Post(ns.Pods(), MakePod("unwanted"));
  TheApi().Post(other.Pods(), MakePod("wanted"));
  TheApi().Post(ns.Pods(), MakePod("wanted"));
  const std::optional<Json> event = watch->Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ((*event)["object"]["metadata"]["namespace"].AsString(), ns.name());
  EXPECT_EQ((*event)["object"]["metadata"]["name"].AsString(), "wanted");
}

TEST(Watch, DeletedCarriesTheVersionOfTheRemoval) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), MakeConfigMap("a"));
  const std::string version = VersionOf(ns.ConfigMaps());
  const auto watch = TheApi().StartWatch(From(ns.ConfigMaps(), version));
  TheApi().Delete(ns.ConfigMap("a"));
  const std::optional<Json> event = watch->Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ((*event)["type"].AsString(), "DELETED");
  EXPECT_GT(std::stoull((*event)["object"]["metadata"]["resourceVersion"].AsString()),
            std::stoull(version));
}

// A server remembers a kind since it knows of it; of a kind just defined it cannot know version 1.
TEST(Watch, FromAForgottenVersionIsRefusedAsGone) {
  const std::string group = FreshName("g") + ".example.com";
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  Json definition = ToJson(R"({"spec": {"scope": "Cluster",
      "names": {"plural": "gauges", "kind": "Gauge"},
      "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object"}}}]}})");
  definition["metadata"]["name"] = "gauges." + group;
  definition["spec"]["group"] = group;
  ASSERT_EQ(TheApi().Post(definitions, definition).code, 201);
  const std::string gauges = "/apis/" + group + "/v1/gauges";
  ASSERT_TRUE(TheApi().WaitUntil([&] { return TheApi().Get(gauges).code == 200; }));
  const auto watch = TheApi().StartWatch(From(gauges, "1"));
  TheApi().Delete(definitions + "/gauges." + group);
  const std::optional<Json> event = watch->Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ((*event)["type"].AsString(), "ERROR");
  EXPECT_EQ((*event)["object"]["kind"].AsString(), "Status");
  EXPECT_EQ((*event)["object"]["code"].AsInt(), 410);
  EXPECT_EQ((*event)["object"]["reason"].AsString(), "Expired");
  EXPECT_TRUE(TheApi().WaitUntil([&] { return watch->ended(); }));
}

TEST(Watch, EndsByItselfWhenAskedTo) {
  const Namespace ns;
  const auto watch =
      TheApi().StartWatch(From(ns.Pods(), VersionOf(ns.Pods())) + "&timeoutSeconds=1");
  EXPECT_EQ(watch->code(), 200);
  EXPECT_FALSE(watch->ended());
  EXPECT_TRUE(TheApi().WaitUntil([&] { return watch->ended(); }, seconds(5)));
}

TEST(Watch, GetsABookmarkBeforeItsTimeEnds) {
  const Namespace ns;
  const std::string version = VersionOf(ns.Pods());
  const auto watch =
      TheApi().StartWatch(From(ns.Pods(), version) + "&timeoutSeconds=3&allowWatchBookmarks=true");
  const std::optional<Json> bookmark = watch->Next();
  ASSERT_TRUE(bookmark.has_value());
  EXPECT_EQ((*bookmark)["type"].AsString(), "BOOKMARK");
  EXPECT_GE(std::stoull((*bookmark)["object"]["metadata"]["resourceVersion"].AsString()),
            std::stoull(version));
  EXPECT_FALSE((*bookmark)["object"]["metadata"].Has("name"));
}

TEST(Watch, WithoutAllowanceGetsNoBookmark) {
  const Namespace ns;
  const auto watch =
      TheApi().StartWatch(From(ns.Pods(), VersionOf(ns.Pods())) + "&timeoutSeconds=3");
  EXPECT_FALSE(watch->Next().has_value());
  EXPECT_TRUE(watch->ended());
}

TEST(Watch, OfAStatusSendsTheWholeObject) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const auto watch = TheApi().StartWatch(From(ns.Pods(), VersionOf(ns.Pods())));
  TheApi().Patch(ns.Pod("a") + "/status", kMergePatch, R"({"status": {"message": "m"}})");
  const std::optional<Json> event = watch->Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ((*event)["type"].AsString(), "MODIFIED");
  EXPECT_EQ((*event)["object"]["status"]["message"].AsString(), "m");
  EXPECT_EQ((*event)["object"]["spec"]["schedulerName"].AsString(), "nobody");
}

TEST(Watch, WithInitialEventsMarksTheirEndByABookmark) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const auto watch =
      TheApi().StartWatch(ns.Pods() +
                          "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                          "&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(NextEvent(*watch), "ADDED a");
  const std::optional<Json> bookmark = watch->Next();
  ASSERT_TRUE(bookmark.has_value());
  EXPECT_EQ((*bookmark)["type"].AsString(), "BOOKMARK");
  EXPECT_EQ((*bookmark)["object"]["kind"].AsString(), "Pod");
  const Json& meta = (*bookmark)["object"]["metadata"];
  EXPECT_EQ(meta["annotations"]["k8s.io/initial-events-end"].AsString(), "true");
  EXPECT_FALSE(meta["resourceVersion"].AsString().empty());
}

}  // namespace
}  // namespace galen::contract
