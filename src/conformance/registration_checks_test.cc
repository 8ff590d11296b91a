// The checks of registration_checks.cc, each failing on one thing that is wrong.
#include <gtest/gtest.h>

#include "conformance/fake_observations.h"

namespace galen::conformance {
namespace {

using namespace std::chrono_literals;

Info& InfoOf(Observations& seen) { return seen.registration.info.info; }

// The same in every answer: what is wrong is not that answers differ.
void Everywhere(Observations& seen, const std::function<void(Info&)>& change) {
  RegistrationSeen& at = seen.registration;
  change(at.info.info);
  change(at.again->info);
  change(at.with_unknown_field->info);
  for (InfoAnswer& one : at.parallel) change(one.info);
}

TEST(RegistrationChecks, EachFailsAlone) {
  const std::vector<Flaw> flaws = {
      {"registration.socket-file", [](Observations& s) { s.registration.is_socket = false; }},
      {"registration.socket-file",
       [](Observations& s) { s.registration.socket = "/k/plugins_registry/.gpu.sock"; }},
      {"registration.socket-length",
       [](Observations& s) { s.registration.socket = "/k/" + std::string(105, 'x'); }},
      {"registration.get-info", [](Observations& s) { s.registration.info.answer.took = 1001ms; }},
      {"registration.type",
       [](Observations& s) { Everywhere(s, [](Info& i) { i.type = "CSIPlugin"; }); }},
      {"registration.endpoint-absolute",
       [](Observations& s) {
         Everywhere(s, [](Info& i) { i.endpoint = "dra.sock"; });
         s.registration.endpoint_connect.reset();
         s.registration.kubelet_root.clear();
       }},
      {"registration.endpoint-length",
       [](Observations& s) {
         Everywhere(s, [](Info& i) { i.endpoint = "/k/" + std::string(105, 'x'); });
       }},
      {"registration.endpoint-inside",
       [](Observations& s) { Everywhere(s, [](Info& i) { i.endpoint = "/k2/dra.sock"; }); }},
      {"registration.endpoint-inside",
       [](Observations& s) { s.registration.real_directory = "/etc"; }},
      {"registration.endpoint-listens",
       [](Observations& s) { s.registration.endpoint_connect = Unavailable("refused"); }},
      {"registration.version-order",
       [](Observations& s) {
         Everywhere(s, [](Info& i) { std::swap(i.versions[0], i.versions[1]); });
       }},
      {"registration.versions-form",
       [](Observations& s) { Everywhere(s, [](Info& i) { i.versions.push_back("1"); }); }},
      {"registration.versions-form",
       [](Observations& s) {
         Everywhere(s, [](Info& i) { i.versions.push_back(i.versions[0]); });
       }},
      {"registration.repeatable",
       [](Observations& s) { s.registration.again->info.endpoint = "/k/other.sock"; }},
      {"registration.repeatable",
       [](Observations& s) { s.registration.again->answer.status = Unavailable("gone"); }},
      {"registration.unknown-field",
       [](Observations& s) {
         s.registration.with_unknown_field->answer.status = InvalidArgument("unknown field");
       }},
      {"registration.parallel",
       [](Observations& s) { s.registration.parallel[1].answer.status = Unavailable("busy"); }},
      {"registration.unique",
       [](Observations& s) { s.registration.twins = {"/k/other-reg.sock"}; }},
      {"registration.notified",
       [](Observations& s) { s.registration.notified_registered->status = Unimplemented("no"); }},
      {"registration.survives-refusal",
       [](Observations& s) { s.registration.after_refusal->answer.status = Unavailable("gone"); }},
      {"registration.survives-refusal",
       [](Observations& s) { s.registration.notified_refused->status = DeadlineExceeded("5 s"); }},
  };
  std::vector<Check> alone;
  for (const Check& check : RegistrationChecks()) {
    // These two spoil others of necessity; see below.
    if (check.id != "registration.name" && check.id != "registration.versions")
      alone.push_back(check);
  }
  ExpectEachFailsAlone(flaws, alone);
}

TEST(RegistrationChecks, ANameThatIsNoneFails) {
  for (const std::string& name : {std::string(), std::string("GPU"), std::string(64, 'x')}) {
    Observations seen = GoodObservations();
    InfoOf(seen).name = name;
    EXPECT_EQ(ResultOf(seen, "registration.name").level, Level::kBad) << name;
  }
}

TEST(RegistrationChecks, NoVersionThatAKubeletKnowsFails) {
  Observations seen = GoodObservations();
  InfoOf(seen).versions = {"v1alpha4.DRAPlugin", "1.0.0"};
  EXPECT_EQ(ResultOf(seen, "registration.versions").level, Level::kBad);
  InfoOf(seen).versions = {"v1beta1.DRAPlugin"};
  EXPECT_EQ(ResultOf(seen, "registration.versions").level, Level::kGood);
  EXPECT_EQ(ResultOf(seen, "registration.version-order").level, Level::kUnknown);
}

TEST(RegistrationChecks, AnEmptyEndpointIsTheRegistrationSocket) {
  Observations seen = GoodObservations();
  Everywhere(seen, [](Info& info) { info.endpoint = ""; });
  EXPECT_THAT(Failures(seen), ::testing::IsEmpty());
}

TEST(RegistrationChecks, AnErrorAsTheAnswerToARefusalIsFine) {
  Observations seen = GoodObservations();
  seen.registration.notified_refused->status = {Code::kUnknown, "failed registration process"};
  EXPECT_THAT(Failures(seen), ::testing::IsEmpty());
}

TEST(RegistrationChecks, AnUnknownRootIsNotChecked) {
  Observations seen = GoodObservations();
  seen.registration.kubelet_root = "";
  EXPECT_EQ(ResultOf(seen, "registration.endpoint-inside").level, Level::kUnknown);
}

}  // namespace
}  // namespace galen::conformance
