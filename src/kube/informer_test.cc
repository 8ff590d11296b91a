#include "kube/informer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"
#include "kube/test_json.h"

namespace galen::kube {
namespace {

// What this reader wants of a Pod.
struct Phase {
  std::string phase;
  std::string node;
  bool operator==(const Phase&) const = default;
};

StatusOr<Phase> DecodePhase(const Json& object) {
  const std::string& phase = object["phase"].AsString();
  if (phase == "broken") return InvalidArgument("phase is broken");
  return Phase{phase, object["node"].AsString()};
}

std::string PodText(std::string_view name, std::string_view phase, std::string_view node,
                    int version) {
  return Json::MakeObject(
             {{"metadata", Json::MakeObject({{"name", name},
                                             {"namespace", "a"},
                                             {"resourceVersion", std::to_string(version)}})},
              {"phase", phase},
              {"node", node}})
      .Dump();
}

class InformerTest : public testing::Test {
 protected:
  InformerTest() {
    informer_.AddListener([this](const ObjectKey& key, const Phase* before, const Phase* after) {
      changes_ += fmt::format("{}:{}>{} ", key.name, before ? before->phase : "-",
                              after ? after->phase : "-");
      if (after != nullptr)
        EXPECT_EQ(informer_.Find(key), after) << "readers see the new state";
      else
        EXPECT_EQ(informer_.Find(key), nullptr);
    });
    informer_.AddIndex("node", [](const Phase& p) {
      return p.node.empty() ? std::vector<std::string>{} : std::vector{p.node};
    });
    informer_.OnSynced([this] { changes_ += "synced "; });
    informer_.OnWatchTrouble([this](const Status& s) { changes_ += "(" + s.message() + ") "; });
  }

  void List(std::string_view items) {
    transport_.AnswerNext(
        {.body = fmt::format(R"({{"metadata":{{"resourceVersion":"10"}},"items":[{}]}})", items)});
  }
  void StartWith(std::string_view items) {
    List(items);
    informer_.Start();
    loop_.RunUntilIdle();
    transport_.Head(Latest());
  }
  void Receive(std::string_view type, std::string_view object) {
    transport_.Data(Latest(), fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object));
  }
  // The watch says 410; the list that follows has `items`.
  void Relist(std::string_view items) {
    List(items);
    Receive("ERROR", R"({"code":410})");
    loop_.RunUntilIdle();
    transport_.Head(Latest());
  }
  std::size_t Latest() const { return transport_.requests().size() - 1; }
  std::string Changes() { return std::exchange(changes_, ""); }
  std::string On(const std::string& node) const {
    std::string names;
    for (const ObjectKey& key : informer_.Lookup("node", node)) names += key.name + " ";
    return names;
  }

  FakeLoop loop_;
  Random random_{1};
  FakeTransport transport_{loop_};
  Client client_{loop_, transport_};
  std::string changes_;
  Informer<Phase> informer_{loop_, client_, random_, {.resource = kPods}, DecodePhase};
};

TEST_F(InformerTest, ReportsTheFirstListAndThenThatItIsWhole) {
  EXPECT_FALSE(informer_.synced());
  StartWith(PodText("p", "Running", "n1", 1) + "," + PodText("q", "Pending", "", 2));
  EXPECT_EQ(Changes(), "p:->Running q:->Pending synced ");
  EXPECT_TRUE(informer_.synced());
  EXPECT_EQ(informer_.objects().size(), 2u);
  EXPECT_EQ(informer_.Find({"a", "p"})->phase, "Running");
  EXPECT_EQ(informer_.Find({"b", "p"}), nullptr);
}

TEST_F(InformerTest, ReportsWhatChangedAndWhatWasBefore) {
  StartWith(PodText("p", "Pending", "", 1));
  Changes();
  Receive("MODIFIED", PodText("p", "Running", "n1", 11));
  Receive("ADDED", PodText("q", "Pending", "", 12));
  Receive("DELETED", PodText("p", "Running", "n1", 13));
  EXPECT_EQ(Changes(), "p:Pending>Running q:->Pending p:Running>- ");
}

TEST_F(InformerTest, SaysNothingWhenWhatTheReaderWantsStaysEqual) {
  StartWith(PodText("p", "Running", "n1", 1));
  Changes();
  Receive("MODIFIED", PodText("p", "Running", "n1", 11));
  Receive("DELETED", PodText("other", "x", "", 12));
  EXPECT_EQ(Changes(), "");
}

TEST_F(InformerTest, ReportsOnlyTheDifferenceAfterAnotherList) {
  StartWith(PodText("gone", "Running", "n1", 1) + "," + PodText("same", "Running", "n1", 1) + "," +
            PodText("changed", "Pending", "", 1));
  Changes();
  Relist(PodText("same", "Running", "n1", 20) + "," + PodText("changed", "Failed", "n2", 20) + "," +
         PodText("new", "Pending", "", 20));
  EXPECT_EQ(Changes(), "gone:Running>- changed:Pending>Failed new:->Pending ");
}

TEST_F(InformerTest, AListThatBreaksOffTakesNothingAway) {
  StartWith(PodText("p", "Running", "n1", 1));
  Changes();
  transport_.AnswerNext({.body = R"({"items":[)", .end = Unavailable("reset")});
  Receive("ERROR", R"({"code":410})");
  loop_.RunUntilIdle();
  EXPECT_EQ(Changes(), "(list pods: reset) ");
  EXPECT_NE(informer_.Find({"a", "p"}), nullptr);
}

TEST_F(InformerTest, IndexesFollowTheObjects) {
  StartWith(PodText("p", "Running", "n1", 1) + "," + PodText("q", "Running", "n1", 1) + "," +
            PodText("r", "Pending", "", 1));
  EXPECT_EQ(On("n1"), "p q ");
  Receive("MODIFIED", PodText("p", "Running", "n2", 11));
  EXPECT_EQ(On("n1"), "q ");
  EXPECT_EQ(On("n2"), "p ");
  Receive("DELETED", PodText("q", "Running", "n1", 12));
  EXPECT_EQ(On("n1"), "");
  Relist("");
  EXPECT_EQ(On("n2"), "");
}

TEST_F(InformerTest, AnObjectThatCannotBeReadIsReportedAndKeepsItsLastState) {
  StartWith(PodText("p", "Running", "n1", 1));
  Changes();
  Receive("MODIFIED", PodText("p", "broken", "n1", 11));
  EXPECT_EQ(Changes(), "(a/p: phase is broken) ");
  Relist(PodText("p", "broken", "n1", 20) + "," + PodText("q", "broken", "n1", 20));
  EXPECT_EQ(Changes(), "(a/p: phase is broken) (a/q: phase is broken) ");
  EXPECT_EQ(informer_.Find({"a", "p"})->phase, "Running");
  EXPECT_EQ(informer_.Find({"a", "q"}), nullptr);
}

TEST_F(InformerTest, ReportsThatTheWatchIsWellAgainAlthoughNothingChanged) {
  int well = 0;
  informer_.OnWatchWell([&] { ++well; });
  StartWith(PodText("p", "Running", "", 9));
  EXPECT_EQ(well, 1);
  transport_.End(Latest(), Unavailable("cut"));
  EXPECT_EQ(well, 1);
  loop_.Advance(std::chrono::seconds(1));
  transport_.Head(Latest());
  EXPECT_EQ(well, 2);
}

TEST_F(InformerTest, IsNotWellWhileAnObjectCannotBeDecoded) {
  int well = 0;
  informer_.OnWatchWell([&] { ++well; });
  StartWith(PodText("p", "broken", "", 9));
  EXPECT_EQ(well, 0);
  Receive("MODIFIED", PodText("p", "Running", "", 11));
  transport_.End(Latest(), Unavailable("cut"));
  loop_.Advance(std::chrono::seconds(1));
  transport_.Head(Latest());
  EXPECT_EQ(well, 1);
}

}  // namespace
}  // namespace galen::kube
