#include "agent/holdings/node_informers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/holdings/fake_node_view.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ObjectKey kClaimingPod{"default", "a"};
const ObjectKey kClaim{"default", "a-gpu"};

class NodeClaimsTest : public ::testing::Test {
 protected:
  NodeClaimsTest() {
    api_.AnswerBy([this](const net::HttpRequest& request) {
      asked_.push_back(request.path);
      return kube::FakeTransport::Answer{.status = status_, .body = body_};
    });
    body_ = AllocatedTo("uid-a");
  }
  static std::string AllocatedTo(const std::string& pod_uid) {
    return R"({"metadata": {"name": "a-gpu", "namespace": "default", "uid": "c"}, "status": {
      "allocation": {"devices": {"results": [{"request": "gpu", "driver": "d", "pool": "p",
                                              "device": "gpu-0"}]}},
      "reservedFor": [{"resource": "pods", "name": "x", "uid": ")" +
           pod_uid + "\"}]}}";
  }
  // The claim's reservation names the group "ring" alone.
  void ReserveForTheGroup() {
    const std::string of_pod = R"("resource": "pods", "name": "x", "uid": "uid-a")";
    body_.replace(body_.find(of_pod), of_pod.size(),
                  R"("apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "ring")");
  }
  void ShowOfTheGroup(const std::string& name, const std::string& uid = "") {
    kube::Pod& pod = view_.AddPod(name);
    if (!uid.empty()) pod.meta.uid = uid;
    pod.group = "ring";
    pod.claim_names = {{"gpu", "a-gpu"}};
    claims_.PodChanged(pod.meta.key, &pod);
  }
  void Show(const std::string& name) {
    const kube::Pod& pod = view_.AddPod(name);
    claims_.PodChanged(pod.meta.key, &pod);
  }
  bool IsKnownFor(const std::string& pod) const {
    return claims_.FindFor(view_.pods.at({"default", pod}), kClaim) != nullptr;
  }
  std::size_t Asked(Duration d) {
    asked_.clear();
    loop_.Advance(d);
    return asked_.size();
  }

  FakeLoop loop_;
  Random random_{1};
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  FakeNodeView view_;
  int status_ = 200;
  std::string body_;
  std::vector<std::string> asked_, changed_;
  int answers_ = 0;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  NodeClaims claims_{{loop_, random_, log_, client_},
                     [this](const ObjectKey& key) { changed_.push_back(key.name); },
                     [this] { ++answers_; }};
};

TEST_F(NodeClaimsTest, AClaimThatAPodHoldsIsReadOnce) {
  Show("a");
  EXPECT_FALSE(claims_.settled());
  loop_.Advance(1h);
  EXPECT_THAT(asked_, ElementsAre("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/"
                                  "a-gpu"));
  EXPECT_TRUE(claims_.settled());
  EXPECT_EQ(answers_, 1);
  EXPECT_THAT(changed_, ElementsAre("a-gpu"));
  ASSERT_NE(claims_.Find(kClaim), nullptr);
  EXPECT_EQ(claims_.Find(kClaim)->devices.at(0).device.device, "gpu-0");
}

TEST_F(NodeClaimsTest, AClaimThatIsNotThereYetIsAskedForWithBackoff) {
  status_ = 404;
  Show("a");
  EXPECT_LE(Asked(10min), 40u);
  EXPECT_TRUE(claims_.settled()) << "the server has said that there is none";
  status_ = 200;
  loop_.Advance(NodeClaims::kBackoff.most);
  EXPECT_THAT(changed_, ElementsAre("a-gpu"));
  EXPECT_EQ(Asked(10min), 0u);
}

TEST_F(NodeClaimsTest, AClaimOfAnotherPodIsAskedForUntilItIsThisOnes) {
  body_ = AllocatedTo("somebody-else");
  Show("a");
  EXPECT_GE(Asked(1min), 3u);
  body_ = AllocatedTo("uid-a");
  loop_.Advance(NodeClaims::kBackoff.most);
  EXPECT_THAT(changed_, ElementsAre("a-gpu", "a-gpu"));
  EXPECT_EQ(Asked(10min), 0u);
}

TEST_F(NodeClaimsTest, ASecondPodOfASharedClaimHasItReadAgain) {
  Show("a");
  loop_.Advance(1s);
  kube::Pod& second = view_.AddPod("b");
  second.claim_names = {{"gpu", "a-gpu"}};
  claims_.PodChanged(second.meta.key, &second);
  EXPECT_GE(Asked(1s), 1u);
}

// Its reservation names the group alone, so that what was read for the last member seems to be the
// next one's as well.
TEST_F(NodeClaimsTest, AGroupsClaimIsReadAgainForEachPodThatIsNew) {
  ReserveForTheGroup();
  kube::Pod& first = view_.AddPod("a");
  first.group = "ring";
  claims_.PodChanged(first.meta.key, &first);
  EXPECT_EQ(Asked(1h), 1u);
  first.phase = "Running";
  claims_.PodChanged(first.meta.key, &first);
  EXPECT_EQ(Asked(1h), 0u) << "the same Pod";
  body_.replace(body_.find("gpu-0"), 5, "gpu-1");
  for (const std::string name : {"a", "b"}) {
    ShowOfTheGroup(name, "uid-next-" + name);
    EXPECT_EQ(Asked(1h), 1u) << name;
    EXPECT_EQ(claims_.Find(kClaim)->devices.at(0).device.device, "gpu-1");
  }
}

TEST_F(NodeClaimsTest, AnAnswerThatWasAskedForBeforeAPodWasThereIsNotForIt) {
  ReserveForTheGroup();
  const std::string before = body_;
  bool answers = false;
  api_.AnswerBy([&](const net::HttpRequest&) -> std::optional<kube::FakeTransport::Answer> {
    if (!answers) return std::nullopt;
    return kube::FakeTransport::Answer{.status = status_, .body = body_};
  });
  ShowOfTheGroup("a");
  loop_.RunUntilIdle();
  ShowOfTheGroup("b");
  body_.replace(body_.find("gpu-0"), 5, "gpu-1");
  answers = true;
  api_.Head(0);
  api_.Data(0, before);
  api_.End(0);
  // The first time that it is asked for again the server is away.
  status_ = 503;
  loop_.Advance(10ms);
  status_ = 200;
  loop_.Advance(1min);
  ASSERT_NE(claims_.Find(kClaim), nullptr);
  EXPECT_EQ(claims_.Find(kClaim)->devices.at(0).device.device, "gpu-1");
}

// Freed and allocated anew, it has the same reservation; the end of who had it may be seen later.
TEST_F(NodeClaimsTest, AGroupsClaimIsNotKnownForAPodUntilItIsReadForIt) {
  ReserveForTheGroup();
  ShowOfTheGroup("a");
  loop_.Advance(1s);
  ShowOfTheGroup("b");
  EXPECT_TRUE(IsKnownFor("a") && !IsKnownFor("b"));
  changed_.clear();
  loop_.Advance(1s);
  EXPECT_THAT(changed_, ElementsAre("a-gpu")) << "as it was, and news all the same";
  EXPECT_TRUE(IsKnownFor("b"));
  status_ = 403;
  ShowOfTheGroup("c");
  loop_.Advance(1min);
  EXPECT_TRUE(IsKnownFor("b") && !IsKnownFor("c")) << "cannot be read";
  status_ = 200;
  loop_.Advance(1min);
  EXPECT_TRUE(IsKnownFor("c"));
}

TEST_F(NodeClaimsTest, AClaimThatNamesThePodIsKnownForItAtOnce) {
  Show("a");
  loop_.Advance(1s);
  ShowOfTheGroup("b", "uid-a");
  EXPECT_TRUE(IsKnownFor("b"));
}

TEST_F(NodeClaimsTest, APodThatHasEndedWaitsForNothing) {
  status_ = 404;
  kube::Pod& pod = view_.AddPod("a");
  pod.phase = "Failed";
  claims_.PodChanged(kClaimingPod, &pod);
  EXPECT_EQ(Asked(10min), 1u);
  EXPECT_TRUE(claims_.settled());
}

TEST_F(NodeClaimsTest, NothingIsKeptOfAClaimThatNoPodNames) {
  Show("a");
  loop_.Advance(1s);
  claims_.PodChanged(kClaimingPod, nullptr);
  EXPECT_EQ(claims_.Find(kClaim), nullptr);
  EXPECT_EQ(Asked(10min), 0u);
}

TEST_F(NodeClaimsTest, NothingIsConcludedWhileTheServerIsAway) {
  status_ = 503;
  Show("a");
  loop_.Advance(1min);
  EXPECT_FALSE(claims_.settled());
  EXPECT_THAT(changed_, IsEmpty());
  claims_.PodChanged(kClaimingPod, nullptr);
  loop_.Advance(1s);
  EXPECT_TRUE(claims_.settled());
  EXPECT_EQ(answers_, 1) << "whoever waits gets an answer";
}

TEST_F(NodeClaimsTest, ARefusalIsATroubleAndNotTheEnd) {
  status_ = 403;
  Show("a");
  loop_.Advance(1min);
  EXPECT_TRUE(claims_.settled());
  EXPECT_THAT(claims_.trouble(), ::testing::HasSubstr("default/a-gpu"));
  status_ = 200;
  loop_.Advance(NodeClaims::kBackoff.most);
  EXPECT_EQ(claims_.trouble(), "");
  EXPECT_THAT(changed_, SizeIs(1));
}

kube::Pod PodWithClaims(const std::string& name, std::size_t count) {
  kube::Pod pod;
  pod.meta.key = {"default", name};
  pod.meta.uid = "uid-" + name;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string claim = fmt::format("{}-{}", name, i);
    pod.claims.push_back({.name = claim, .claim_name = claim, .template_name = {}});
  }
  return pod;
}

// Once full it said so for ever, and never again; what had no room stayed unread.
TEST_F(NodeClaimsTest, PastItsLimitClaimsWaitForRoomAndEachTimeIsLogged) {
  const kube::Pod many = PodWithClaims("many", NodeClaims::kClaimsMax);
  const kube::Pod one = PodWithClaims("one", 1);
  for (int round = 1; round <= 2; ++round) {
    claims_.PodChanged(many.meta.key, &many);
    claims_.PodChanged(one.meta.key, &one);
    EXPECT_EQ(claims_.trouble(), "too many claims on this node");
    EXPECT_EQ(std::ranges::count_if(lines_,
                                    [](const std::string& line) {
                                      return line.find("the rest waits for room") !=
                                             std::string::npos;
                                    }),
              round);
    asked_.clear();
    claims_.PodChanged(many.meta.key, nullptr);
    EXPECT_EQ(claims_.trouble(), "");
    loop_.Advance(1s);
    EXPECT_THAT(asked_, Contains("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/"
                                 "one-0"));
    claims_.PodChanged(one.meta.key, nullptr);
    EXPECT_THAT(lines_.back(), HasSubstr("have room again"));
  }
}

TEST_F(NodeClaimsTest, ATroubleGoesWithTheLastPodThatNamesItsClaim) {
  status_ = 403;
  Show("a");
  loop_.Advance(1min);
  ASSERT_THAT(claims_.trouble(), ::testing::HasSubstr("default/a-gpu"));
  claims_.PodChanged(kClaimingPod, nullptr);
  EXPECT_EQ(claims_.trouble(), "");
}

// The watch of ResourceSlices, as the API server of a test answers it.
class NodeInformersTest : public ::testing::Test, protected NodeListener {
 protected:
  NodeInformersTest() {
    api_.AnswerBy([this](const net::HttpRequest& request) { return Answer(request); });
    informers_.Start(*this);
    loop_.Advance(1s);
  }
  static std::string Slice(const std::string& name, int generation,
                           const std::vector<std::pair<std::string, std::string>>& devices) {
    std::string list;
    for (const auto& [device, serial] : devices) {
      list += fmt::format(R"({}{{"name": "{}", "attributes": {{"serial": {{"string": "{}"}}}}}})",
                          list.empty() ? "" : ", ", device, serial);
    }
    return fmt::format(R"({{"metadata": {{"name": "{0}", "uid": "uid-{0}", "resourceVersion": "7"}},
      "spec": {{"driver": "d", "nodeName": "n", "devices": [{2}],
                "pool": {{"name": "p", "generation": {1}, "resourceSliceCount": 1}}}}}})",
                       name, generation, list);
  }
  void Watch(const std::string& type, const std::string& object) {
    std::string event = fmt::format(R"({{"type": "{}", "object": {}}})", type, object);
    std::erase(event, '\n');  // a watch sends an object a line
    if (std::exchange(headed_, watch_) != watch_) api_.Head(watch_);
    api_.Data(watch_, event + "\n");
    loop_.Advance(1s);
  }
  // The server knows the watch's version no more, so that what is there is listed anew.
  void ListAnew(const std::string& slices) {
    listed_ = slices;
    Watch("ERROR", R"({"kind": "Status", "code": 410})");
    loop_.Advance(1min);
  }
  std::vector<std::string> Troubles() const { return informers_.troubles(); }
  std::string Serial(const std::string& device) const {
    const auto identity = informers_.FindIdentity({"d", "p", device});
    return identity ? identity->serial : "unknown";
  }
  // "gpu-0=S0 " for each device that the driver offers, with its serial.
  std::string Offered(const std::string& driver) const {
    std::string text;
    for (const auto& [id, ids] : informers_.OfferedBy(driver)) {
      text += id.device + "=" + ids.serial + " ";
    }
    return text;
  }

 private:
  std::optional<kube::FakeTransport::Answer> Answer(const net::HttpRequest& request) {
    const bool slices = request.path.find("resourceslices") != std::string::npos;
    if (request.path.find("watch=") != std::string::npos) {
      if (slices) watch_ = api_.requests().size();
      return std::nullopt;
    }
    return kube::FakeTransport::Answer{
        .body = fmt::format(R"({{"metadata": {{"resourceVersion": "1"}}, "items": [{}]}})",
                            slices ? listed_ : "")};
  }
  void OnPod(const ObjectKey&, const kube::Pod*, const kube::Pod*) override {}
  void OnClaim(const ObjectKey&) override {}
  void OnDevicesChanged() override {}
  void OnSynced() override {}

  FakeLoop loop_;
  Random random_{1};
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  Log log_{LogLevel::kError, [this] { return loop_.WallNow(); }, [](LogLevel, std::string_view) {}};
  std::string listed_ = Slice("a", 1, {{"gpu-0", "S0"}, {"gpu-1", "S1"}});
  std::size_t watch_ = 0;   // the number of its request
  std::size_t headed_ = 0;  // of the one that has its head
  NodeInformers informers_{loop_, log_, random_, client_, "n"};
};

TEST_F(NodeInformersTest, ADeviceThatMovesBetweenSlicesKeepsItsSerialInEveryOrderOfNews) {
  ASSERT_EQ(Serial("gpu-1"), "S1");
  Watch("ADDED", Slice("b", 2, {{"gpu-0", "S0"}, {"gpu-1", "S1"}}));
  Watch("DELETED", Slice("a", 1, {{"gpu-0", "S0"}, {"gpu-1", "S1"}}));
  EXPECT_EQ(Serial("gpu-0"), "S0");
  EXPECT_EQ(Serial("gpu-1"), "S1");
  // One of the two goes on to another slice, and the one that it leaves is changed later.
  Watch("ADDED", Slice("c", 3, {{"gpu-1", "S1"}}));
  Watch("MODIFIED", Slice("b", 3, {{"gpu-0", "S0"}}));
  EXPECT_EQ(Serial("gpu-0"), "S0");
  EXPECT_EQ(Serial("gpu-1"), "S1");
  // The other way round no slice lists it for a while.
  Watch("DELETED", Slice("c", 3, {{"gpu-1", "S1"}}));
  EXPECT_EQ(Serial("gpu-1"), "unknown");
  Watch("MODIFIED", Slice("b", 4, {{"gpu-0", "S0"}, {"gpu-1", "S1"}}));
  EXPECT_EQ(Serial("gpu-1"), "S1");
}

TEST_F(NodeInformersTest, APoolWhoseSlicesChangeOneAfterAnotherOffersAllOfItsDevices) {
  EXPECT_EQ(Offered("d"), "gpu-0=S0 gpu-1=S1 ");
  Watch("ADDED", Slice("b", 2, {{"gpu-1", "S1-replaced"}, {"gpu-2", "S2"}}));
  EXPECT_EQ(Offered("d"), "gpu-0=S0 gpu-1=S1-replaced gpu-2=S2 ");
  EXPECT_EQ(Offered("another"), "");
}

TEST_F(NodeInformersTest, OfTwoSlicesThatListADeviceTheNewerGenerationSaysWhatItIs) {
  // Its name comes first, so that no order of names can be what decides.
  Watch("ADDED", Slice("0", 2, {{"gpu-0", "S0-replaced"}, {"gpu-1", "S1"}}));
  EXPECT_EQ(Serial("gpu-0"), "S0-replaced");
  Watch("MODIFIED", Slice("a", 1, {{"gpu-0", "S0-late"}, {"gpu-1", "S1"}}));
  EXPECT_EQ(Serial("gpu-0"), "S0-replaced") << "late news of a slice that counts no more";
  ListAnew(Slice("a", 1, {{"gpu-0", "S0"}}) + "," + Slice("0", 2, {{"gpu-0", "S0-replaced"}}));
  EXPECT_EQ(Serial("gpu-0"), "S0-replaced");
  EXPECT_EQ(Serial("gpu-1"), "unknown");
  ListAnew(Slice("a", 3, {{"gpu-0", "S0"}}));
  EXPECT_EQ(Serial("gpu-0"), "S0");
  ListAnew("broken");
  EXPECT_THAT(Troubles(), ::testing::ElementsAre(::testing::StartsWith("list ")));
}

}  // namespace
}  // namespace galen::agent
