#include <algorithm>
#include <utility>

#include "agent/drivers/driver_link.h"

namespace galen::agent {

void ReportRoom::Leave(const void* link) {
  --links_;
  GiveBack(link);
}

void ReportRoom::Ask(const void* link, std::size_t bytes, std::function<void()> admitted) {
  waiting_.push_back({link, std::min(bytes, kLongBytesMax), std::move(admitted)});
  Admit();
}

void ReportRoom::GiveBack(const void* link) {
  std::erase_if(waiting_, [&](const Asked& asked) { return asked.link == link; });
  if (const auto held = held_.extract(link)) long_bytes_ -= held.mapped();
  Admit();
}

void ReportRoom::Admit() {
  while (!waiting_.empty() && long_bytes_ + waiting_.front().bytes <= kLongBytesMax) {
    const Asked next = std::move(waiting_.front());
    waiting_.pop_front();
    held_[next.link] = next.bytes;
    long_bytes_ += next.bytes;
    next.admitted();
  }
}

}  // namespace galen::agent
