#include "cli/output/verdict_view.h"

#include <gtest/gtest.h>

#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {
namespace {

namespace wire = galen::inspect::v1;

wire::PostMortem& Add(wire::ExplainResponse& answer, const std::string& uid,
                      const std::string& end) {
  wire::PostMortem& record = *answer.add_post_mortems();
  record.set_uid(uid);
  record.set_end(end);
  record.mutable_verdict()->set_kind("Undetermined");
  return record;
}

void Judge(wire::PostMortem& record) {
  wire::Verdict& verdict = *record.mutable_verdict();
  verdict.set_kind("Hardware");
  verdict.set_confidence(0.95);
  wire::Evidence& evidence = *verdict.add_supporting();
  evidence.set_rule("device-lost");
  evidence.set_supports("Hardware");
  evidence.set_weight(0.95);
  evidence.set_sentence("device lost 2.7 s before the crash");
}

TEST(VerdictOf, IsThatOfThePodsNewestRecord) {
  wire::ExplainResponse answer;
  answer.set_pod_uid("uid-1");
  Judge(Add(answer, "uid-1", "Crashed"));
  Add(answer, "uid-1", "Crashed");
  ASSERT_TRUE(VerdictOf(answer));
  EXPECT_EQ(Summary(*VerdictOf(answer)), "hardware (0.95): device lost 2.7 s before the crash");
}

TEST(VerdictOf, IsNotThatOfAnEarlierPodOfTheNameWhileThereIsOne) {
  wire::ExplainResponse answer;
  Judge(Add(answer, "uid-1", "Failed"));
  EXPECT_TRUE(VerdictOf(answer)) << "the Pod is gone: the last one is meant";
  answer.set_pod_uid("uid-2");
  EXPECT_FALSE(VerdictOf(answer));
}

TEST(VerdictOf, SaysOfACrashThatNothingIsKnownAndOfAGoodEndNothing) {
  wire::ExplainResponse crashed, succeeded;
  Add(crashed, "uid-1", "Crashed");
  Add(succeeded, "uid-1", "Succeeded");
  ASSERT_TRUE(VerdictOf(crashed));
  EXPECT_EQ(Summary(*VerdictOf(crashed)), "undetermined: nothing shows why it ended");
  EXPECT_FALSE(VerdictOf(succeeded));
  EXPECT_FALSE(VerdictOf(wire::ExplainResponse()));
}

}  // namespace
}  // namespace galen::cli
