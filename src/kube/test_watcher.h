// What the watcher's tests share: objects as text, a sink that records its calls, and a watcher
// with a scripted server. Test code.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"
#include "kube/watcher.h"

namespace galen::kube {

// Watcher::Options's own longest delay.
inline constexpr Duration kBackoffMost = std::chrono::seconds(30);

inline std::string PodText(std::string_view name, int version) {
  return fmt::format(R"({{"kind":"Pod","metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name,
                     version);
}

inline std::string ListText(std::string_view items, int version, std::string_view resume = "") {
  return fmt::format(
      R"({{"kind":"PodList","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
      version, resume, items);
}

inline std::string EventText(std::string_view type, std::string_view object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

// An ERROR event as a server sends it, e.g. with 410 when a version is gone.
inline std::string ErrorText(int code) {
  return EventText(
      "ERROR", fmt::format(R"({{"kind":"Status","code":{},"message":"answered {}"}})", code, code));
}

// Records a watcher's calls as text, one item for each.
class Transcript final : public WatchSink {
 public:
  void OnInit() override { text += "init "; }
  void OnInitItem(const Json& object) override { text += "item:" + Name(object) + " "; }
  void OnInitDone() override { text += "done "; }
  void OnApplied(const Json& object) override { text += "applied:" + Name(object) + " "; }
  void OnDeleted(const Json& object) override { text += "deleted:" + Name(object) + " "; }
  void OnTrouble(const Status& status) override {
    text += "trouble ";
    trouble = ToString(status);
  }

  // What was recorded since the last call.
  std::string Take() { return std::exchange(text, ""); }

  std::string text;
  std::string trouble;

 private:
  static std::string Name(const Json& object) { return object["metadata"]["name"].AsString(); }
};

class WatcherTest : public testing::Test {
 protected:
  // Brings the watcher to a watch from version 10 with Pod a known.
  void StartWatching() {
    transport_.AnswerNext({.body = ListText(PodText("a", 7), 10)});
    watcher_.Start();
    loop_.RunUntilIdle();
    ASSERT_EQ(sink_.Take(), "init item:a done ");
    ASSERT_EQ(transport_.last(), kWatchFrom10);
    transport_.Head(Latest());
  }
  std::size_t Latest() const { return transport_.requests().size() - 1; }
  void Receive(std::string_view bytes) { transport_.Data(Latest(), bytes); }
  // How many requests were made since the last call of this.
  std::size_t Asked() {
    const std::size_t before = std::exchange(asked_, transport_.requests().size());
    return asked_ - before;
  }

  static constexpr const char* kList = "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=2";
  static constexpr const char* kWatchFrom10 =
      "GET /api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn&resourceVersion=10"
      "&allowWatchBookmarks=true&timeoutSeconds=290";
  static std::string WatchFrom(std::string_view version) {
    return fmt::format(
        "GET /api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn&resourceVersion={}"
        "&allowWatchBookmarks=true&timeoutSeconds=290",
        version);
  }

  FakeLoop loop_;
  Random random_{1};
  FakeTransport transport_{loop_};
  Client client_{loop_, transport_};
  Transcript sink_;
  Watcher watcher_{loop_,
                   client_,
                   random_,
                   {.resource = kPods, .selectors = {.field = "spec.nodeName=n"}, .page = 2},
                   sink_};
  std::size_t asked_ = 0;
};

}  // namespace galen::kube
