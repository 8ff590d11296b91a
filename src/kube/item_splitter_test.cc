#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/test_json.h"
#include "kube/watch_decoder.h"

namespace galen::kube {
namespace {

// What a splitter made of a text that came in pieces.
struct Outcome {
  std::vector<std::string> items;
  Status status;
  ListHead head;
};

Outcome Split(const std::vector<std::string_view>& pieces) {
  Outcome outcome;
  ItemSplitter splitter(kPods, [&](Json item) { outcome.items.push_back(item.Dump()); });
  for (const std::string_view piece : pieces) {
    outcome.status = splitter.Write(piece);
    if (!outcome.status.ok()) return outcome;
  }
  StatusOr<ListHead> head = splitter.Finish();
  outcome.status = head.ok() ? OkStatus() : head.status();
  if (head.ok()) outcome.head = *head;
  return outcome;
}

Outcome Split(std::string_view text) { return Split(std::vector{text}); }

constexpr std::string_view kList = R"({
  "kind": "PodList", "apiVersion": "v1", "extra": {"items": [{"not": "this"}], "x": ["]"]},
  "metadata": {"resourceVersion": "1234", "continue": "abc\"]}", "remainingItemCount": 7},
  "items" : [
    {"metadata":{"name":"a","annotations":{"q":"br\"ac}es ]{[ \\"}}},
    {"kind":"Other","apiVersion":"x/v2","spec":{"items":[{},{"a":[]}]}} ,
    {}
  ]
})";
const std::vector<std::string> kItems = {
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"q":"br\"ac}es ]{[ \\"},"name":"a"}})",
    R"({"apiVersion":"x/v2","kind":"Other","spec":{"items":[{},{"a":[]}]}})",
    R"({"apiVersion":"v1","kind":"Pod"})",
};

TEST(ItemSplitter, HandsOutEachItemAndThenWhatStandsAroundThem) {
  const Outcome outcome = Split(kList);
  EXPECT_EQ(outcome.status, OkStatus());
  EXPECT_EQ(outcome.items, kItems);
  EXPECT_EQ(outcome.head,
            (ListHead{.resource_version = "1234", .resume = "abc\"]}", .remaining = 7}));
}

TEST(ItemSplitter, DoesNotCareWhereTheBytesAreCut) {
  for (std::size_t cut = 0; cut <= kList.size(); ++cut) {
    const Outcome outcome = Split({kList.substr(0, cut), kList.substr(cut)});
    ASSERT_EQ(outcome.status, OkStatus()) << cut;
    ASSERT_EQ(outcome.items, kItems) << cut;
  }
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < kList.size(); ++i) bytes.push_back(kList.substr(i, 1));
  EXPECT_EQ(Split(bytes).items, kItems);
}

TEST(ItemSplitter, ATextThatBreaksOffAnywhereIsAnError) {
  for (std::size_t end = 0; end < kList.size(); ++end) {
    EXPECT_FALSE(Split(kList.substr(0, end)).status.ok()) << end;
  }
}

// Whatever single byte is lost or doubled, either the list is still good JSON or it is refused;
// the judge is the parser on the whole text.
TEST(ItemSplitter, AcceptsExactlyWhatIsJson) {
  for (std::size_t at = 0; at < kList.size(); ++at) {
    std::string lost(kList), doubled(kList), struck(kList);
    lost.erase(at, 1);
    doubled.insert(at, 1, kList[at]);
    struck[at] = '}';
    for (const std::string& text : {lost, doubled, struck}) {
      const StatusOr<Json> whole = Json::Parse(text);
      const Outcome outcome = Split(text);
      if (!whole.ok()) {
        EXPECT_FALSE(outcome.status.ok()) << text;
      } else if (outcome.status.ok()) {
        EXPECT_EQ(outcome.items.size(), (*whole)["items"].items().size()) << text;
      }
    }
  }
}

TEST(ItemSplitter, ItemsMayComeBeforeEverythingElse) {
  const Outcome outcome = Split(
      R"({"apiVersion":"v1","items":[{"a":1}],"kind":"PodList","metadata":{"resourceVersion":"5"}})");
  EXPECT_EQ(outcome.items, std::vector<std::string>{R"({"a":1,"apiVersion":"v1","kind":"Pod"})"});
  EXPECT_EQ(outcome.head.resource_version, "5");
}

TEST(ItemSplitter, AnEmptyListHasNoItems) {
  for (const char* text : {R"({"items":[]})", R"({"items": [ ] })", R"({"items":null})", R"({})"}) {
    const Outcome outcome = Split(text);
    EXPECT_EQ(outcome.status, OkStatus()) << text;
    EXPECT_TRUE(outcome.items.empty());
  }
}

TEST(ItemSplitter, RefusesWhatIsNoList) {
  for (const char* text :
       {"", "[]", "1", R"({"items":{}})", R"({"items":"x"})", R"({"items":[1]})",
        R"({"items":[{},]})", R"({"items":[,{}]})", R"({"items":[{} {}]})", R"({"items":[[{}]]})",
        R"({"items":[{}],"items":[{}]})", R"({"items":[{"a":]}]})", R"({"items":[]}{})",
        R"({"items":[]} x)", R"([{"items":[{}]}])"}) {
    EXPECT_FALSE(Split(text).status.ok()) << text;
  }
}

TEST(ItemSplitter, OnlyTheListsOwnItemsAreSplit) {
  const Outcome outcome =
      Split(R"({"a":"items","b":["items",[{}]],"c":{"items":[{}]},"items":[{"d":1}]})");
  EXPECT_EQ(outcome.status, OkStatus());
  EXPECT_EQ(outcome.items.size(), 1u);
}

TEST(ItemSplitter, BoundsAnItemAndTheHead) {
  const std::string piece(1 << 20, 'x');
  ItemSplitter items(kPods, [](Json) {});
  Status status = items.Write(R"({"items":[{"a":")");
  for (std::size_t sent = 0; status.ok() && sent <= ItemSplitter::kItemBytesMax;
       sent += piece.size()) {
    status = items.Write(piece);
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted);

  ItemSplitter head(kPods, [](Json) {});
  status = head.Write(R"({"a":")");
  for (int i = 0; status.ok() && i < 2; ++i) status = head.Write(piece);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace galen::kube
