// Lists: selectors, pages, versions.
#include <gtest/gtest.h>

#include <set>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

Json Labelled(std::string_view name, std::string_view key, std::string_view value) {
  Json map = MakeConfigMap(name);
  map["metadata"]["labels"][key] = value;
  return map;
}

std::set<std::string> NamesIn(const Json& list) {
  std::set<std::string> names;
  for (const Json& item : list["items"].items()) names.insert(item["metadata"]["name"].AsString());
  // Every namespace of a real cluster has this one.
  names.erase("kube-root-ca.crt");
  return names;
}

// A label selector as it stands in a URL.
std::set<std::string> Selected(const Namespace& ns, const std::string& selector) {
  return NamesIn(TheApi().Get(ns.ConfigMaps() + "?labelSelector=" + selector).body);
}

using Names = std::set<std::string>;

TEST(List, IsAListOfItsKindWithAVersion) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Json list = TheApi().Get(ns.Pods()).body;
  EXPECT_EQ(list["kind"].AsString(), "PodList");
  EXPECT_EQ(list["apiVersion"].AsString(), "v1");
  EXPECT_FALSE(list["metadata"]["resourceVersion"].AsString().empty());
  EXPECT_EQ(NamesIn(list), Names{"a"});
}

TEST(List, SelectsByLabels) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps(), Labelled("a", "app", "x"));
  TheApi().Post(ns.ConfigMaps(), Labelled("b", "app", "y"));
  TheApi().Post(ns.ConfigMaps(), Labelled("c", "gen", "7"));
  EXPECT_EQ(Selected(ns, "app%3Dx"), Names{"a"});
  EXPECT_EQ(Selected(ns, "app%3D%3Dx"), Names{"a"});
  EXPECT_EQ(Selected(ns, "app"), (Names{"a", "b"}));
  EXPECT_EQ(Selected(ns, "%21app"), Names{"c"});
  EXPECT_EQ(Selected(ns, "app%21%3Dx"), (Names{"b", "c"}));
  EXPECT_EQ(Selected(ns, "app+in+(x,y),%21gen"), (Names{"a", "b"}));
  EXPECT_EQ(Selected(ns, "app+notin+(x)"), (Names{"b", "c"}));
  EXPECT_EQ(Selected(ns, "gen%3E6"), Names{"c"});
  EXPECT_EQ(Selected(ns, "gen%3C7"), Names{});
}

TEST(List, RefusesASelectorThatMakesNoSense) {
  const Namespace ns;
  EXPECT_EQ(TheApi().Get(ns.ConfigMaps() + "?labelSelector=a%3D%3D%3Db").code, 400);
  EXPECT_EQ(TheApi().Get(ns.Pods() + "?fieldSelector=spec.nothing%3Dx").code, 400);
}

TEST(List, SelectsByFields) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  TheApi().Post(ns.Pods(), MakePod("b"));
  EXPECT_EQ(NamesIn(TheApi().Get(ns.Pods() + "?fieldSelector=metadata.name%3Da").body), Names{"a"});
  EXPECT_EQ(NamesIn(TheApi().Get(ns.Pods() + "?fieldSelector=metadata.name%21%3Da").body),
            Names{"b"});
  EXPECT_EQ(NamesIn(TheApi()
                        .Get(ns.Pods() + "?fieldSelector=status.phase%3DPending,"
                                         "spec.nodeName%3D")
                        .body),
            (Names{"a", "b"}));
}

TEST(List, ComesInPagesOfOneAndTheSameVersion) {
  const Namespace ns;
  Names all;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    TheApi().Post(ns.Pods(), MakePod(name));
    all.insert(name);
  }
  const Json first = TheApi().Get(ns.Pods() + "?limit=2").body;
  EXPECT_EQ(first["metadata"]["remainingItemCount"].AsInt(), 3);
  // What comes and goes in between belongs to a later version.
  TheApi().Post(ns.Pods(), MakePod("dd"));
  TheApi().Delete(ns.Pod("e"));
  Names seen = NamesIn(first);
  Json page = first;
  while (!page["metadata"]["continue"].AsString().empty()) {
    page = TheApi()
               .Get(ns.Pods() + "?limit=2&continue=" + page["metadata"]["continue"].AsString())
               .body;
    EXPECT_EQ(page["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    seen.merge(NamesIn(page));
  }
  EXPECT_EQ(seen, all);
}

TEST(List, RefusesATokenThatIsNotItsOwn) {
  const Namespace ns;
  EXPECT_EQ(TheApi().Get(ns.Pods() + "?limit=2&continue=nonsense").code, 400);
}

TEST(List, AtAnExactVersionShowsThePast) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const std::string version =
      TheApi().Get(ns.Pods()).body["metadata"]["resourceVersion"].AsString();
  TheApi().Post(ns.Pods(), MakePod("b"));
  const std::string query = "?resourceVersion=" + version + "&resourceVersionMatch=";
  EXPECT_EQ(NamesIn(TheApi().Get(ns.Pods() + query + "Exact").body), Names{"a"});
  EXPECT_TRUE(NamesIn(TheApi().Get(ns.Pods() + query + "NotOlderThan").body).contains("a"));
}

TEST(List, OfAVersionThatIsYetToComeTimesOut) {
  const Namespace ns;
  const Reply reply = TheApi().Get(ns.Pods() + "?resourceVersion=9000000000000000000");
  EXPECT_EQ(reply.code, 504);
  EXPECT_EQ(reply.reason(), "Timeout");
  // What client-go knows it by.
  EXPECT_EQ(reply.body["details"]["causes"][0]["reason"].AsString(), "ResourceVersionTooLarge");
}

TEST(List, PagesOfASelectionAreFull) {
  const Namespace ns;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    TheApi().Post(ns.ConfigMaps(), Labelled(name, "odd", (*name - 'a') % 2 == 0 ? "yes" : "no"));
  }
  const std::string query = ns.ConfigMaps() + "?labelSelector=odd%3Dyes&limit=2";
  const Json first = TheApi().Get(query).body;
  EXPECT_EQ(NamesIn(first), (Names{"a", "c"}));
  // Nobody counts what nobody looked at.
  EXPECT_FALSE(first["metadata"].Has("remainingItemCount"));
  const Json second =
      TheApi().Get(query + "&continue=" + first["metadata"]["continue"].AsString()).body;
  EXPECT_EQ(NamesIn(second), Names{"e"});
  EXPECT_FALSE(second["metadata"].Has("continue"));
}

TEST(List, OfAllNamespacesHoldsEachOfThem) {
  const Namespace one;
  const Namespace two;
  const std::string name = FreshName("both");
  TheApi().Post(one.ConfigMaps(), MakeConfigMap(name));
  TheApi().Post(two.ConfigMaps(), MakeConfigMap(name));
  const Json list = TheApi().Get("/api/v1/configmaps?fieldSelector=metadata.name%3D" + name).body;
  EXPECT_EQ(list["items"].items().size(), 2u);
}

TEST(List, OfAnUnknownResourceIsNotFound) {
  EXPECT_EQ(TheApi().Get("/api/v1/gadgets").code, 404);
  EXPECT_EQ(TheApi().Get("/apis/nowhere.example.com/v1/gadgets").code, 404);
}

}  // namespace
}  // namespace galen::contract
