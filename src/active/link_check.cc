#include "active/link_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "active/memory_check.h"
#include "base/check.h"
#include "base/text.h"

namespace galen::active {
namespace {

// One run of RunLinkCheck.
class LinkCheck {
 public:
  LinkCheck(const std::vector<LinkEnd>& ends, std::uint64_t bytes,
            const DeviceCheckOptions& options, CheckWatch& watch)
      : ends_(ends),
        bytes_(bytes),
        seed_(options.seed),
        rounds_max_(options.rounds_max),
        watch_(watch) {}

  LinkOutcome Run() {
    if (const Status took = Take(); !took.ok()) return {.outcome = OutcomeOfError(took, 0, "none")};
    LinkOutcome link;
    while (true) {
      done_ = 0;
      if (const Status round = Round(link.outcome.rounds); !round.ok()) {
        // A wrong pair that was found is reported, though there is no time for the whole round.
        if (!wrong_.empty() || !broken_.empty()) break;
        link.outcome = OutcomeOfError(round, link.outcome.rounds,
                                      fmt::format("{} of {}", done_, Counted(Planned(), "pair")));
        link.outcome.bytes = bytes_;
        link.bad = says_it_;
        return link;
      }
      if (!wrong_.empty() || !broken_.empty()) break;
      if (++link.outcome.rounds != rounds_max_) continue;
      link.outcome.verdict = CheckVerdict::kPassed;
      link.outcome.bytes = bytes_;
      return link;
    }
    link.bad = broken_.empty() ? BadEnds(ends_.size(), {wrong_.begin(), wrong_.end()})
                               : std::vector<std::size_t>(broken_.begin(), broken_.end());
    link.outcome.verdict = CheckVerdict::kFailed;
    link.outcome.code = broken_.empty() ? kLinkWrong : kMemoryWrong;
    link.outcome.message = Sentence(link.bad);
    link.outcome.bytes = bytes_;
    return link;
  }

 private:
  std::size_t Planned() const { return ends_.size() * (ends_.size() - 1); }

  Status Take() {
    for (const LinkEnd& end : ends_) {
      ASSIGN_OR_RETURN(const Address sent, end.device->Allocate(bytes_));
      ASSIGN_OR_RETURN(const Address received, end.device->Allocate(bytes_));
      sent_.push_back({.begin = sent, .count = bytes_ / 8});
      received_.push_back({.begin = received, .count = bytes_ / 8});
    }
    return OkStatus();
  }

  Status Round(int round) {
    for (std::size_t from = 0; from < ends_.size(); ++from) {
      for (std::size_t to = 0; to < ends_.size(); ++to) {
        if (from == to) continue;
        RETURN_IF_ERROR(Send(from, to, static_cast<std::uint64_t>(round)));
        ++done_;
      }
    }
    return OkStatus();
  }

  // Compared at both ends: what was wrong before it was sent is not the fault of the link.
  Status Send(std::size_t from, std::size_t to, std::uint64_t round) {
    RETURN_IF_ERROR(watch_.Continue(fmt::format("{} → {}", ends_[from].name, ends_[to].name)));
    Pattern pattern{.name = "random",
                    .kind = PatternKind::kRandom,
                    .argument = MixBits(seed_ + round * 0x10000 + from * 0x100 + to)};
    ComputeDevice& sender = *ends_[from].device;
    ComputeDevice& receiver = *ends_[to].device;
    RETURN_IF_ERROR(Of(from, sender.Fill(sent_[from], pattern)));
    Pattern inverse = pattern;
    inverse.mask = ~pattern.mask;
    RETURN_IF_ERROR(Of(to, receiver.Fill(received_[to], inverse)));
    // A copy that fails may be either end's fault, so neither is named.
    RETURN_IF_ERROR(receiver.CopyFrom(sender, sent_[from].begin, received_[to].begin, bytes_));
    const StatusOr<Mismatch> before = sender.Compare(sent_[from], pattern);
    RETURN_IF_ERROR(Of(from, before.status()));
    if (before->count > 0) {
      broken_.insert(from);
      return OkStatus();
    }
    const StatusOr<Mismatch> after = receiver.Compare(received_[to], pattern);
    RETURN_IF_ERROR(Of(to, after.status()));
    if (after->count > 0) wrong_.insert(std::minmax(from, to));
    return OkStatus();
  }

  // `status` of a step that one end did alone: an error names that end.
  Status Of(std::size_t end, const Status& status) {
    if (status.code() != Code::kDataLoss) return status;
    says_it_.push_back(end);
    return Annotate(status, "{}", ends_[end].name);
  }

  std::string Names(const std::vector<std::size_t>& ends) const {
    std::string names;
    for (const std::size_t end : ends) {
      names += (names.empty() ? "" : end == ends.back() ? " and " : ", ") + ends_[end].name;
    }
    return names;
  }

  std::string Sentence(const std::vector<std::size_t>& bad) const {
    if (!broken_.empty()) {
      return fmt::format("Memory of {} does not hold what was written before it is sent",
                         Names(bad));
    }
    const std::size_t pairs = ends_.size() * (ends_.size() - 1) / 2;
    const std::string wrong = fmt::format("{} of {}", wrong_.size(), Counted(pairs, "pair"));
    if (!bad.empty()) {
      return fmt::format("Data of {} arrives wrong: {} of devices, all of them with {}", Names(bad),
                         wrong, bad.size() == 1 ? "it" : "one of these");
    }
    if (wrong_.size() == 1) {
      const auto [a, b] = *wrong_.begin();
      return fmt::format(
          "Data between {} and {} arrives wrong: one of the two, or the link between them",
          ends_[a].name, ends_[b].name);
    }
    return fmt::format("Data arrives wrong between {} of devices; no one device explains it",
                       wrong);
  }

  const std::vector<LinkEnd>& ends_;
  const std::uint64_t bytes_, seed_;
  const int rounds_max_;
  CheckWatch& watch_;
  std::vector<Words> sent_, received_;
  std::set<EndPair> wrong_;
  std::set<std::size_t> broken_;      // whose memory is wrong before anything is sent
  std::vector<std::size_t> says_it_;  // the end that says itself that it is broken
  std::size_t done_ = 0;
};

}  // namespace

std::vector<std::size_t> BadEnds(std::size_t ends, const std::vector<EndPair>& wrong) {
  GALEN_CHECK(ends <= kLinkEndsMax);
  if (wrong.empty()) return {};
  const auto explains = [&wrong](unsigned set) {
    return std::ranges::all_of(wrong, [set](const EndPair& pair) {
      return ((set >> pair.first) & 1) != 0 || ((set >> pair.second) & 1) != 0;
    });
  };
  std::optional<unsigned> best;
  bool alone = true;
  for (unsigned set = 1; set < (1u << ends); ++set) {
    if (!explains(set)) continue;
    const int size = std::popcount(set);
    if (best && size > std::popcount(*best)) continue;
    alone = !best || size < std::popcount(*best);
    best = set;
  }
  if (!best || !alone || 2 * static_cast<std::size_t>(std::popcount(*best)) > ends) return {};
  std::vector<std::size_t> bad;
  for (std::size_t end = 0; end < ends; ++end) {
    if (((*best >> end) & 1) != 0) bad.push_back(end);
  }
  return bad;
}

LinkOutcome RunLinkCheck(const std::vector<LinkEnd>& ends, std::uint64_t bytes,
                         const DeviceCheckOptions& options, CheckWatch& watch) {
  return LinkCheck(ends, bytes, options, watch).Run();
}

}  // namespace galen::active
