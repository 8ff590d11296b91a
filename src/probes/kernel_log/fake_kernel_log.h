// A kernel's log made of lines, which can overrun and break. For tests.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "probes/kernel_log/kernel_log.h"

namespace galen::probes {

class FakeKernelLog final : public KernelLogSource {
 public:
  StatusOr<std::optional<std::string>> Next() override {
    if (!end_.ok()) return end_;
    if (waiting_.empty()) return std::optional<std::string>();
    StatusOr<std::optional<std::string>> next = std::move(waiting_.front());
    waiting_.pop_front();
    if (!next.ok() && next.status().code() != Code::kDataLoss) end_ = next.status();
    return next;
  }
  void OnReadable(std::function<void()> callback) override { on_readable_ = std::move(callback); }

  // Puts records at the end; a waiting reader is notified.
  void Append(std::string record) { Add(std::optional(std::move(record))); }
  // What Next answers in its turn: DataLoss is an overrun, anything else the end of reading.
  void Fail(Status status) { Add(std::move(status)); }

 private:
  void Add(StatusOr<std::optional<std::string>> next) {
    waiting_.push_back(std::move(next));
    if (end_.ok() && on_readable_) on_readable_();
  }

  std::deque<StatusOr<std::optional<std::string>>> waiting_;
  std::function<void()> on_readable_;
  Status end_;  // not OK: why nothing can be read any more
};

}  // namespace galen::probes
