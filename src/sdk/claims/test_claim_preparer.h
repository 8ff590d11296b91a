// The stage of ClaimPreparer's tests: a node, an API server that answers as tests say, and an
// author whose calls are recorded. Test code.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "kube/fake_transport.h"
#include "sdk/claims/claim_preparer.h"
#include "sdk/fake_node.h"

namespace galen::sdk {

inline constexpr char kPreparingDriver[] = "fpga.example.com";
inline constexpr char kCdiFile[] = "/cdi/fpga.example.com-claim_uid-1.json";
inline const ClaimRef kPreparedClaim{.ns = "train", .name = "c", .uid = "uid-1"};

class ClaimPreparerTest : public ::testing::Test {
 protected:
  ClaimPreparerTest() {
    api_.AnswerBy([this](const net::HttpRequest&) { return answer_; });
    Restart();
  }

  // As the driver's process would.
  void Restart() {
    preparer_.reset();
    preparer_ = StartAnother();
  }
  // A second process of the driver, as in a rolling update.
  std::unique_ptr<ClaimPreparer> StartAnother() {
    return StartWith({[this](const DeviceClaim& claim) {
                        prepared_.push_back(claim.uid);
                        return prepare_answer_;
                      },
                      [this](const DeviceClaim& claim) {
                        unprepared_.push_back(claim.uid);
                        return unprepare_answer_;
                      }});
  }
  std::unique_ptr<ClaimPreparer> StartWith(ClaimPreparer::Handlers handlers) {
    auto preparer =
        std::make_unique<ClaimPreparer>(Edges{node_.loop, log_, metrics_.emplace_back(),
                                              node_.random, node_.files, node_.sockets, client_},
                                        ClaimPreparer::Options{.driver = kPreparingDriver,
                                                               .pool = "node-7",
                                                               .cdi_root = "/cdi",
                                                               .directory = "/claims",
                                                               .lock = "/serialize.lock"},
                                        std::move(handlers));
    preparer->SetInventory({{.name = "fpga-0"}, {.name = "fpga-1"}});
    EXPECT_EQ(preparer->Recover(), OkStatus());
    return preparer;
  }

  static kube::FakeTransport::Answer Claim(const std::string& uid, const std::string& device,
                                           const std::string& at = "2026-11-21T14:00:00Z") {
    return {.body =
                R"({"kind":"ResourceClaim","metadata":{"namespace":"train","name":"c","uid":")" +
                uid + R"("},"status":{"allocation":{"allocationTimestamp":")" + at +
                R"(","devices":{"results":[{"request":"fpga","driver":")" + kPreparingDriver +
                R"(","pool":"node-7","device":")" + device + R"("}]}}}})"};
  }

  StatusOr<std::vector<ReadyDevice>> Prepare(const ClaimRef& claim = kPreparedClaim) {
    StatusOr<std::vector<ReadyDevice>> answer = Internal("no answer");
    preparer_->Prepare(claim, [&](auto ready) { answer = std::move(ready); });
    node_.loop.Advance(std::chrono::seconds(60));
    return answer;
  }
  Status Unprepare(const ClaimRef& claim = kPreparedClaim) {
    Status answer = Internal("no answer");
    preparer_->Unprepare(claim, [&](const Status& status) { answer = status; });
    node_.loop.RunUntilIdle();
    return answer;
  }

  FakeNode node_;
  kube::FakeTransport api_{node_.loop};
  kube::Client client_{node_.loop, api_};
  std::optional<kube::FakeTransport::Answer> answer_ = Claim("uid-1", "fpga-0");
  Prepared prepare_answer_ = CdiEdits{.env = {"FPGA=0"}};
  std::optional<Failure> unprepare_answer_;
  std::vector<std::string> prepared_;
  std::vector<std::string> unprepared_;
  std::vector<std::string> warnings_;
  Log log_{LogLevel::kWarning, [] { return WallTime{}; },
           [this](LogLevel, std::string_view line) { warnings_.emplace_back(line); }};
  std::list<Metrics> metrics_;  // of each process
  std::unique_ptr<ClaimPreparer> preparer_;
};

}  // namespace galen::sdk
