// The checks of cdi_checks.cc, each finding one thing that is wrong.
#include <gtest/gtest.h>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

TEST(CdiChecks, EachFindsWhatItIsFor) {
  ExpectEachIsFound(
      {
          {{"cdi.specs bad"},
           "/etc/cdi/broken.json: it has no devices",
           [](Observations& s) {
             s.cdi.files->push_back(
                 {.path = "/etc/cdi/broken.json", .fault = "it has no devices", .ids = {}});
           }},
          {{"cdi.duplicates bad"},
           "gpu.example.com/gpu=c-1 is in /var/run/cdi/gpu.json and /etc/cdi/old.json",
           [](Observations& s) {
             s.cdi.files->push_back(
                 {.path = "/etc/cdi/old.json", .fault = "", .ids = {"gpu.example.com/gpu=c-1"}});
           }},
          {{"cdi.missing bad"},
           "gpu.example.com/gpu=c-0 of claim train/c is in no file of /etc/cdi, /var/run/cdi",
           [](Observations& s) { s.cdi.files->clear(); }},
      },
      CdiChecks());
}

TEST(CdiChecks, DirectoriesThatAreNotThereAreUnknown) {
  Observations seen = GoodObservations();
  seen.cdi.files = NotFound("none of /etc/cdi, /var/run/cdi is there");
  for (const Check& check : CdiChecks()) {
    EXPECT_EQ(check.judge(seen).level, Level::kUnknown) << check.id;
  }
}

}  // namespace
}  // namespace galen::doctor
