#include "history/store/record.h"

#include <gtest/gtest.h>

#include <limits>

#include "history/journal/segment.h"

namespace galen::history {
namespace {

const DeviceId kRecordedGpu{"gpu.example.com", "node-7", "gpu-3"};
constexpr WallTime kSign(std::chrono::nanoseconds(1'795'269'731'304'050'607));

DeviceHealth Unhealthy() {
  DeviceHealth health;
  health.id = kRecordedGpu;
  health.state = HealthState::kUnhealthy;
  health.cause = {"XidGpuLost",         "XID 79: GPU has fallen off the bus", "79", "1", "x",
                  FaultOwner::kHardware};
  health.since = kSign;
  health.timeout = std::chrono::milliseconds(1500);
  return health;
}

Record FullRecord() {
  Record record;
  record.sequence = 812;
  record.time = kSign;
  record.kind = Kind::kChange;
  record.device = kRecordedGpu;
  record.serial = "1653922005112";
  DeviceHealth before;
  before.id = kRecordedGpu;
  before.state = HealthState::kDegraded;
  before.share = 0.5;
  record.change = HealthChange{before, Unhealthy()};
  record.pod = PodRef{{"train", "trainer-0"}, "uid-1"};
  record.text = "Degraded → Unhealthy, \"XidGpuLost\"\n";
  record.source = "gpu.example.com, report 812";
  record.incident = "i-7";
  return record;
}

TEST(Record, ReadsBackAsItWasWritten) {
  EXPECT_EQ(*Decode(Encode(FullRecord())), FullRecord());
  Record least;
  least.sequence = 1;
  EXPECT_EQ(*Decode(Encode(least)), least);
}

TEST(Record, EveryKindHasAName) {
  for (const Kind kind :
       {Kind::kSign, Kind::kChange, Kind::kKept, Kind::kPublished, Kind::kForgotten,
        Kind::kDriverConnected, Kind::kDriverLost, Kind::kCrash, Kind::kNote}) {
    Record record;
    record.sequence = 1;
    record.kind = kind;
    EXPECT_EQ(Decode(Encode(record))->kind, kind);
  }
  EXPECT_EQ(ToString(Kind::kDriverLost), "driver-lost");
  EXPECT_EQ(ParseKind("Change"), std::nullopt);
}

TEST(Record, LineIsThatOfTheFormatsPage) {
  Record record;
  record.sequence = 7;
  record.time = kSign;
  record.kind = Kind::kPublished;
  record.device = kRecordedGpu;
  record.text = "Pod status";
  EXPECT_EQ(Encode(record),
            R"({"device":{"device":"gpu-3","driver":"gpu.example.com","pool":"node-7"},)"
            R"("kind":"published","sequence":7,"text":"Pod status",)"
            R"("time":"2026-11-21T14:02:11.304050607Z"})");
}

TEST(Record, OfAnOlderJournalReadsAsWhatItIsCalledNow) {
  const StatusOr<Record> record =
      Decode(R"({"sequence":1,"time":"2026-11-21T14:02:11Z","kind":"told","text":"Pod status"})");
  ASSERT_TRUE(record.ok()) << ToString(record.status());
  EXPECT_EQ(record->kind, Kind::kPublished);
}

TEST(Record, BoundedRecordFitsAFrameAndReadsBackWhateverItHeld) {
  Record record = FullRecord();
  const std::string hostile = "\xff\"\\\x01" + std::string(1 << 20, '\x02');
  for (std::string* text : {&record.device.driver, &record.device.pool, &record.device.device,
                            &record.serial, &record.text, &record.source, &record.incident,
                            &record.pod->key.ns, &record.pod->key.name, &record.pod->uid}) {
    *text = hostile;
  }
  for (DeviceHealth* health : {&record.change->before, &record.change->after}) {
    for (std::string* text : {&health->cause.code, &health->cause.message, &health->cause.value,
                              &health->cause.threshold, &health->cause.unit}) {
      *text = hostile;
    }
    health->share = std::numeric_limits<double>::quiet_NaN();
    health->since = WallTime::min();
  }
  record.time = WallTime::max();
  const Record bounded = Bounded(record);
  const std::string line = Encode(bounded);
  EXPECT_LE(line.size(), kRecordBytesMax);
  const StatusOr<Record> back = Decode(line);
  ASSERT_TRUE(back.ok()) << ToString(back.status());
  EXPECT_EQ(*back, bounded);
}

TEST(Record, BoundsLeaveAGoodRecordAlone) { EXPECT_EQ(Bounded(FullRecord()), FullRecord()); }

TEST(Record, FieldsOfALaterVersionAreSkipped) {
  const StatusOr<Record> record = Decode(
      R"({"sequence":1,"time":"2026-11-21T14:02:11Z","kind":"note","text":"x","later":{"a":1}})");
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->text, "x");
}

TEST(Record, LinesThatAreNoRecordsAreErrors) {
  for (const char* line :
       {"", "{", "[]", "{}", R"({"sequence":1,"time":"2026-11-21T14:02:11Z"})",
        R"({"sequence":1,"time":"2026-11-21T14:02:11Z","kind":"dance"})",
        R"({"sequence":0,"time":"2026-11-21T14:02:11Z","kind":"note"})",
        R"({"sequence":-5,"time":"2026-11-21T14:02:11Z","kind":"note"})",
        R"({"sequence":1,"time":"yesterday","kind":"note"})", R"({"sequence":1,"kind":"note"})",
        R"({"sequence":1,"time":"2026-11-21T14:02:11Z","kind":"change",)"
        R"("before":{"state":"Healthy"}})",
        R"({"sequence":1,"time":"2026-11-21T14:02:11Z","kind":"change","before":{"state":"Fine"},)"
        R"("after":{"state":"Healthy"}})"}) {
    EXPECT_FALSE(Decode(line).ok()) << line;
  }
}

}  // namespace
}  // namespace galen::history
