#include "kube/watch_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galen::kube {
namespace {

constexpr std::string_view kEvents =
    "{\"type\":\"ADDED\",\"object\":{\"a\":\"x\\ny\"}}\n"
    "\n"
    "{\"type\":\"MODIFIED\",\"object\":{\"b\":2}}\n"
    "{\"type\":\"DELETED\",\"object\":{}}\n"
    "{\"type\":\"BOOKMARK\",\"object\":{}}\n"
    "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n";

// What comes out of a decoder, as text: a number for the type and the object.
std::vector<std::string> Drain(WatchDecoder& decoder) {
  std::vector<std::string> events;
  for (;;) {
    StatusOr<std::optional<WatchEvent>> event = decoder.Next();
    if (!event.ok()) {
      events.push_back(ToString(event.status()));
    } else if (*event) {
      events.push_back(
          fmt::format("{} {}", static_cast<int>((*event)->type), (*event)->object.Dump()));
    } else {
      return events;
    }
  }
}

const std::vector<std::string> kDecoded = {R"(0 {"a":"x\ny"})", R"(1 {"b":2})", "2 {}", "3 {}",
                                           R"(4 {"code":410})"};

TEST(WatchDecoder, TakesOneEventFromEachLine) {
  WatchDecoder decoder;
  EXPECT_EQ(decoder.Write(kEvents), OkStatus());
  EXPECT_EQ(Drain(decoder), kDecoded);
  EXPECT_EQ(decoder.Finish(), OkStatus());
}

TEST(WatchDecoder, DoesNotCareWhereTheBytesAreCut) {
  for (std::size_t cut = 0; cut <= kEvents.size(); ++cut) {
    WatchDecoder decoder;
    EXPECT_EQ(decoder.Write(kEvents.substr(0, cut)), OkStatus());
    std::vector<std::string> events = Drain(decoder);
    EXPECT_EQ(decoder.Write(kEvents.substr(cut)), OkStatus());
    for (std::string& event : Drain(decoder)) events.push_back(std::move(event));
    ASSERT_EQ(events, kDecoded) << cut;
  }
}

TEST(WatchDecoder, ReportsBrokenLinesAndGoesOnAfterThem) {
  WatchDecoder decoder;
  EXPECT_EQ(decoder.Write("{\"type\":\n{\"type\":\"NEW\",\"object\":{}}\n{\"type\":\"ADDED\"}\n[]\n"
                          "{\"type\":\"DELETED\",\"object\":{}}\n"),
            OkStatus());
  const std::vector<std::string> events = Drain(decoder);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_TRUE(events[0].starts_with("DataLoss: an event is broken")) << events[0];
  EXPECT_EQ(events[1], R"(DataLoss: not an event: {"type":"NEW","object":{}})");
  EXPECT_TRUE(events[2].starts_with("DataLoss: not an event"));
  EXPECT_TRUE(events[3].starts_with("DataLoss: not an event"));
  EXPECT_EQ(events[4], "2 {}");
}

TEST(WatchDecoder, AnEndInsideAnEventIsReported) {
  WatchDecoder decoder;
  EXPECT_EQ(decoder.Finish(), OkStatus());
  EXPECT_EQ(decoder.Write("{\"type\""), OkStatus());
  EXPECT_TRUE(Drain(decoder).empty());
  EXPECT_EQ(decoder.Finish().code(), Code::kDataLoss);
}

TEST(WatchDecoder, BoundsAnEventButNotHowManyThereAre) {
  const std::string piece(1 << 20, 'x');
  WatchDecoder decoder;
  Status status;
  std::size_t sent = 0;
  for (; status.ok() && sent < 2 * WatchDecoder::kEventBytesMax; sent += piece.size()) {
    status = decoder.Write(piece);
    Drain(decoder);
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(sent, WatchDecoder::kEventBytesMax + piece.size());

  const std::string line = "{\"type\":\"ADDED\",\"object\":{\"p\":\"" + piece + "\"}}\n";
  WatchDecoder many;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(many.Write(line), OkStatus());
    ASSERT_EQ(Drain(many).size(), 1u);
  }
}

}  // namespace
}  // namespace galen::kube
