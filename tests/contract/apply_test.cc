// Server-side apply: who owns which field, and what follows from it.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

Reply Apply(const std::string& path, const std::string& manager, const Json& object,
            bool force = false) {
  return TheApi().Send("PATCH", path + "?fieldManager=" + manager + (force ? "&force=true" : ""),
                       object, kApplyPatch);
}

Json Map(std::string_view data) {
  Json map = ToJson(R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})");
  map["data"] = ToJson(data);
  return map;
}

// A Pod with these conditions and nothing else, for its status.
Json Conditions(std::string_view conditions) {
  Json pod = ToJson(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})");
  pod["status"]["conditions"] = ToJson(conditions);
  return pod;
}

const Json* EntryOf(const Json& object, std::string_view manager) {
  for (const Json& entry : object["metadata"]["managedFields"].items()) {
    if (entry["manager"].AsString() == manager) return &entry;
  }
  return nullptr;
}

TEST(Apply, CreatesWhatIsNotThere) {
  const Namespace ns;
  const Reply reply = Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})"));
  EXPECT_EQ(reply.code, 201);
  const Json* entry = EntryOf(reply.body, "one");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ((*entry)["operation"].AsString(), "Apply");
  EXPECT_EQ((*entry)["fieldsType"].AsString(), "FieldsV1");
  EXPECT_TRUE((*entry)["fieldsV1"]["f:data"].Has("f:k"));
}

TEST(Apply, NeedsAManager) {
  const Namespace ns;
  const Reply reply = TheApi().Send("PATCH", ns.ConfigMap("a"), Map(R"({"k": "1"})"), kApplyPatch);
  EXPECT_EQ(reply.code, 422);
}

TEST(Apply, RemovesWhatItsManagerNoLongerNames) {
  const Namespace ns;
  Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1", "old": "x"})"));
  const Reply reply = Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "2"})"));
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["data"], ToJson(R"({"k": "2"})"));
}

TEST(Apply, LeavesTheFieldsOfOthersAlone) {
  const Namespace ns;
  Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})"));
  Apply(ns.ConfigMap("a"), "two", Map(R"({"m": "2"})"));
  const Reply reply = Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "3"})"));
  EXPECT_EQ(reply.body["data"], ToJson(R"({"k": "3", "m": "2"})"));
}

TEST(Apply, ConflictsOverAFieldThatAnotherManagerOwns) {
  const Namespace ns;
  Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})"));
  const Reply reply = Apply(ns.ConfigMap("a"), "two", Map(R"({"k": "2"})"));
  EXPECT_EQ(reply.code, 409);
  EXPECT_EQ(reply.reason(), "Conflict");
  const Json& cause = reply.body["details"]["causes"][0];
  EXPECT_EQ(cause["reason"].AsString(), "FieldManagerConflict");
  EXPECT_EQ(cause["field"].AsString(), ".data.k");
  EXPECT_NE(cause["message"].AsString().find("\"one\""), std::string::npos);
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).body["data"]["k"].AsString(), "1");
}

TEST(Apply, ByForceTakesTheFieldOver) {
  const Namespace ns;
  Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})"));
  EXPECT_EQ(Apply(ns.ConfigMap("a"), "two", Map(R"({"k": "2"})"), true).code, 200);
  EXPECT_EQ(Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "3"})")).code, 409);
}

TEST(Apply, TheSameValueIsOwnedTogether) {
  const Namespace ns;
  Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})"));
  EXPECT_EQ(Apply(ns.ConfigMap("a"), "two", Map(R"({"k": "1"})")).code, 200);
  const Reply left = Apply(ns.ConfigMap("a"), "one", Map("{}"));
  EXPECT_EQ(left.body["data"]["k"].AsString(), "1");
  const Reply gone = Apply(ns.ConfigMap("a"), "two", Map("{}"));
  EXPECT_FALSE(gone.body["data"].Has("k"));
}

TEST(Apply, ConflictsWithWhatAnUpdateWrote) {
  const Namespace ns;
  Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})"));
  TheApi().Patch(ns.ConfigMap("a") + "?fieldManager=editor", kMergePatch,
                 R"({"data": {"k": "2"}})");
  const Reply reply = Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})"));
  EXPECT_EQ(reply.code, 409);
  EXPECT_NE(reply.body["details"]["causes"][0]["message"].AsString().find("\"editor\""),
            std::string::npos);
}

TEST(Apply, AgainWithoutAChangeKeepsTheVersion) {
  const Namespace ns;
  const Json first = Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})")).body;
  const Json second = Apply(ns.ConfigMap("a"), "one", Map(R"({"k": "1"})")).body;
  EXPECT_EQ(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);
}

TEST(Apply, MergesAKeyedListByItsKey) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const std::string status = ns.Pod("a") + "/status";
  Apply(status, "one", Conditions(R"([{"type": "example.com/A", "status": "True"}])"));
  const Reply both =
      Apply(status, "two", Conditions(R"([{"type": "example.com/B", "status": "False"}])"));
  ASSERT_EQ(both.code, 200) << both.text;
  EXPECT_EQ(both.body["status"]["conditions"].items().size(), 2u);
  const Json* entry = EntryOf(both.body, "two");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ((*entry)["subresource"].AsString(), "status");
  EXPECT_TRUE(
      (*entry)["fieldsV1"]["f:status"]["f:conditions"].Has(R"(k:{"type":"example.com/B"})"));
  const Reply conflict =
      Apply(status, "two", Conditions(R"([{"type": "example.com/A", "status": "False"}])"));
  EXPECT_EQ(conflict.code, 409);
  EXPECT_EQ(conflict.body["details"]["causes"][0]["field"].AsString(),
            R"(.status.conditions[type="example.com/A"].status)");
}

TEST(Apply, TakesItsOwnItemOutOfAKeyedList) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const std::string status = ns.Pod("a") + "/status";
  Apply(status, "one", Conditions(R"([{"type": "example.com/A", "status": "True"}])"));
  Apply(status, "two", Conditions(R"([{"type": "example.com/B", "status": "True"}])"));
  const Reply reply = Apply(status, "one", Conditions("[]"));
  ASSERT_EQ(reply.body["status"]["conditions"].items().size(), 1u) << reply.text;
  EXPECT_EQ(reply.body["status"]["conditions"][0]["type"].AsString(), "example.com/B");
}

TEST(Apply, MergesASetByItsValues) {
  const Namespace ns;
  const auto with = [](const char* finalizer) {
    Json map = Map("{}");
    map.Erase("data");
    if (*finalizer != 0) map["metadata"]["finalizers"] = Json::MakeArray({finalizer});
    return map;
  };
  Apply(ns.ConfigMap("a"), "one", with("example.com/one"));
  const Reply both = Apply(ns.ConfigMap("a"), "two", with("example.com/two"));
  EXPECT_EQ(both.body["metadata"]["finalizers"].items().size(), 2u) << both.text;
  const Reply left = Apply(ns.ConfigMap("a"), "one", with(""));
  EXPECT_EQ(left.body["metadata"]["finalizers"], Json::MakeArray({"example.com/two"}));
  TheApi().Patch(ns.ConfigMap("a"), kMergePatch, R"({"metadata": {"finalizers": null}})");
}

// The empty map is owned though nobody can read it back, so it is new to every applier.
TEST(Apply, OfAnEmptyMapIsOwnedByTheFirst) {
  const Namespace ns;
  const Reply first = Apply(ns.ConfigMap("a"), "one", Map("{}"));
  EXPECT_FALSE(first.body.Has("data"));
  ASSERT_NE(EntryOf(first.body, "one"), nullptr) << first.text;
  EXPECT_TRUE((*EntryOf(first.body, "one"))["fieldsV1"].Has("f:data"));
  const Reply second = Apply(ns.ConfigMap("a"), "two", Map("{}"));
  EXPECT_EQ(second.code, 409);
  EXPECT_EQ(second.body["details"]["causes"][0]["field"].AsString(), ".data");
}

TEST(Apply, RefusesAListThatNamesAKeyTwice) {
  const Namespace ns;
  TheApi().Post(ns.Pods(), MakePod("a"));
  const Reply keyed = Apply(ns.Pod("a") + "/status", "one", Conditions(R"([
      {"type": "A", "status": "True"}, {"type": "A", "status": "False"}])"));
  EXPECT_EQ(keyed.code, 500);
  EXPECT_NE(keyed.body["message"].AsString().find(
                R"(.status.conditions: duplicate entries for key [type="A"])"),
            std::string::npos)
      << keyed.text;
  Json map = Map("{}");
  map["metadata"]["finalizers"] = Json::MakeArray({"example.com/a", "example.com/a"});
  const Reply set = Apply(ns.ConfigMap("a"), "one", map);
  EXPECT_EQ(set.code, 500);
  EXPECT_NE(set.body["message"].AsString().find(
                R"(.metadata.finalizers: duplicate entries for key [="example.com/a"])"),
            std::string::npos)
      << set.text;
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).code, 404);
}

TEST(Apply, RefusesAFieldThatNobodyKnows) {
  const Namespace ns;
  Json map = Map("{}");
  map["bogus"] = 1;
  const Reply reply = Apply(ns.ConfigMap("a"), "one", map);
  EXPECT_EQ(reply.code, 500);
  EXPECT_NE(reply.body["message"].AsString().find(".bogus: field not declared in schema"),
            std::string::npos)
      << reply.text;
}

TEST(Apply, WithTheUidOfAnObjectThatIsGoneMakesNone) {
  const Namespace ns;
  Json map = Map("{}");
  map["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000";
  const Reply reply = Apply(ns.ConfigMap("a"), "one", map);
  EXPECT_EQ(reply.code, 409);
  EXPECT_EQ(reply.reason(), "Conflict");
  EXPECT_EQ(TheApi().Get(ns.ConfigMap("a")).code, 404);
}

TEST(ManagedFields, RecordWhatAnUpdateChanged) {
  const Namespace ns;
  TheApi().Post(ns.ConfigMaps() + "?fieldManager=creator", MakeConfigMap("a", "1"));
  const Reply reply = TheApi().Patch(ns.ConfigMap("a") + "?fieldManager=editor", kMergePatch,
                                     R"({"data": {"other": "2"}})");
  const Json* creator = EntryOf(reply.body, "creator");
  const Json* editor = EntryOf(reply.body, "editor");
  ASSERT_NE(creator, nullptr);
  ASSERT_NE(editor, nullptr);
  EXPECT_TRUE((*creator)["fieldsV1"]["f:data"].Has("f:key"));
  EXPECT_FALSE((*creator)["fieldsV1"]["f:data"].Has("f:other"));
  EXPECT_TRUE((*editor)["fieldsV1"]["f:data"].Has("f:other"));
  EXPECT_EQ((*editor)["operation"].AsString(), "Update");
}

}  // namespace
}  // namespace galen::contract
