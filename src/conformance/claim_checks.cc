#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "conformance/check.h"

namespace galen::conformance {
namespace {

constexpr std::string_view kClaimsReadOnly =
    "read-only: a kubelet may be using this driver, and only it may prepare claims";

const ClaimsSeen& ClaimsOf(const Observations& seen) { return seen.claims; }

// Why no calls were made; "" when some were.
std::string WhyNot(const Observations& seen) {
  if (!seen.registration.info.answer.status.ok()) return "GetInfo gave no answer";
  if (seen.read_only) return std::string(kClaimsReadOnly);
  return ClaimsOf(seen).not_checked;
}

template <typename Judgement>
Outcome WithCalls(const Observations& seen, Judgement judge) {
  const std::string why = WhyNot(seen);
  return why.empty() ? judge(ClaimsOf(seen)) : NotChecked(why);
}

Outcome NotTried(const ClaimsSeen& claims) {
  return NotChecked(claims.stopped.empty() ? "the examination was interrupted" : claims.stopped);
}

// A judgement of an answer about the test's claim.
template <typename Judgement>
Outcome WithClaim(const Observations& seen, std::optional<ClaimsAnswer> ClaimsSeen::* which,
                  Judgement judge) {
  return WithCalls(seen, [&](const ClaimsSeen& claims) {
    if (!claims.no_claim.empty()) return NotChecked(claims.no_claim);
    const std::optional<ClaimsAnswer>& answer = claims.*which;
    if (!answer) return NotTried(claims);
    if (!answer->answer.status.ok()) return Failed(ShownStatus(answer->answer.status));
    return judge(claims, *answer);
  });
}

// The fault of an answer that should name each claim that was asked for, and no other; "" when it
// is right.
std::string KeyFault(const ClaimsAnswer& answer) {
  for (const std::string& uid : answer.asked) {
    if (!answer.entries.contains(uid)) return "no entry for claim " + uid;
  }
  if (answer.entries.size() == answer.asked.size()) return "";
  return fmt::format("{} entries for {} claims", answer.entries.size(), answer.asked.size());
}

// Why the only claim of an answer was not handled; "" when it was.
std::string Fault(const ClaimsAnswer& answer) {
  if (std::string fault = KeyFault(answer); !fault.empty()) return fault;
  for (const auto& [uid, entry] : answer.entries) {
    if (!entry.error.empty()) return fmt::format("error \"{}\"", Shown(entry.error));
  }
  return "";
}

Outcome JudgeDone(const ClaimsAnswer& answer) {
  const std::string fault = Fault(answer);
  return fault.empty() ? Passed(ShownTime(answer.answer.took)) : Failed(fault);
}

// Judges an answer that should hold that claim's own error.
Outcome JudgeRefused(const ClaimsAnswer& answer) {
  if (const std::string fault = KeyFault(answer); !fault.empty()) return Failed(fault);
  const ClaimEntry& entry = answer.entries.at(answer.asked.front());
  if (entry.error.empty()) {
    return Failed(fmt::format("no error, and {} devices", entry.devices.size()));
  }
  return Passed(fmt::format("\"{}\"", Shown(entry.error)));
}

// Accepts a refusal in the claim's entry or by an error of the whole call: a check of its own
// demands the former. A call without any answer refuses nothing.
Outcome JudgeRefusedAnyhow(const ClaimsAnswer& answer) {
  const Status& status = answer.answer.status;
  if (status.ok()) return JudgeRefused(answer);
  const bool unanswered = status.code() == Code::kUnimplemented ||
                          status.code() == Code::kDeadlineExceeded ||
                          status.code() == Code::kUnavailable || status.code() == Code::kCancelled;
  if (unanswered) return Failed(ShownStatus(status));
  return Passed(fmt::format("the whole call: {}", ShownStatus(status)));
}

// UNIMPLEMENTED means that the service is missing; any other error is its answer.
Outcome JudgeClaimsServed(const Observations& seen) {
  return WithCalls(seen, [](const ClaimsSeen& claims) {
    std::vector<std::string> versions;
    for (const auto& answers : {claims.empty_prepare, claims.empty_unprepare}) {
      for (const auto& [version, answer] : answers) {
        if (answer.answer.status.code() == Code::kUnimplemented) {
          return Failed(
              fmt::format("{}.DRAPlugin answers {}", version, ShownStatus(answer.answer.status)));
        }
        if (versions.empty() || versions.back() < version) versions.push_back(version);
      }
    }
    return Passed(fmt::format("{}", fmt::join(versions, ", ")));
  });
}

Outcome JudgeEmpty(const Observations& seen) {
  return WithCalls(seen, [](const ClaimsSeen& claims) {
    for (const auto& answers : {claims.empty_prepare, claims.empty_unprepare}) {
      for (const auto& [version, answer] : answers) {
        if (!answer.answer.status.ok()) {
          return Failed(version + " answers " + ShownStatus(answer.answer.status));
        }
        if (!answer.entries.empty()) return Failed("entries for claims nobody asked for");
      }
    }
    return Passed();
  });
}

Outcome JudgeClaimUnknownField(const Observations& seen) {
  return WithCalls(seen, [](const ClaimsSeen& claims) {
    if (!claims.with_unknown_field) return NotTried(claims);
    const Status& status = claims.with_unknown_field->answer.status;
    return status.ok() ? Passed() : Failed(ShownStatus(status));
  });
}

Outcome JudgeUnprepareUnknown(const Observations& seen) {
  return WithCalls(seen, [](const ClaimsSeen& claims) {
    if (!claims.unprepare_unknown) return NotTried(claims);
    const ClaimsAnswer& answer = *claims.unprepare_unknown;
    return answer.answer.status.ok() ? JudgeDone(answer)
                                     : Failed(ShownStatus(answer.answer.status));
  });
}

// Needs no cluster: no driver can know the claim, whichever API server it asks.
Outcome JudgeMissing(const Observations& seen) {
  return WithCalls(seen, [](const ClaimsSeen& claims) {
    if (!claims.prepare_missing) return NotTried(claims);
    const ClaimsAnswer& answer = *claims.prepare_missing;
    return answer.answer.status.ok()
               ? JudgeRefused(answer)
               : Failed("the whole call failed: " + ShownStatus(answer.answer.status));
  });
}

Outcome JudgeClaimsInParallel(const Observations& seen) {
  return WithCalls(seen, [](const ClaimsSeen& claims) {
    if (claims.parallel.empty()) return NotTried(claims);
    Duration slowest{};
    for (const ClaimsAnswer& answer : claims.parallel) {
      if (!answer.answer.status.ok()) return Failed(ShownStatus(answer.answer.status));
      if (const std::string fault = Fault(answer); !fault.empty()) return Failed(fault);
      slowest = std::max(slowest, answer.answer.took);
    }
    return Passed(
        fmt::format("{} calls, the slowest {}", claims.parallel.size(), ShownTime(slowest)));
  });
}

Outcome JudgePrepare(const Observations& seen) {
  return WithClaim(seen, &ClaimsSeen::prepare,
                   [](const ClaimsSeen&, const ClaimsAnswer& answer) { return JudgeDone(answer); });
}

// The answer's entry for the test's claim, when it was prepared.
const ClaimEntry* Prepared(const ClaimsSeen& claims) {
  if (!claims.prepare || !Fault(*claims.prepare).empty()) return nullptr;
  return &claims.prepare->entries.at(claims.claim.uid);
}

// A judgement that compares with the first prepare.
template <typename Judgement>
Outcome WithPrepared(const Observations& seen, std::optional<ClaimsAnswer> ClaimsSeen::* which,
                     Judgement judge) {
  return WithClaim(seen, which, [&](const ClaimsSeen& claims, const ClaimsAnswer& answer) {
    const ClaimEntry* prepared = Prepared(claims);
    return prepared == nullptr ? NotChecked("the claim was not prepared")
                               : judge(*prepared, answer, claims);
  });
}

// Only v1 has share_id.
ClaimEntry WithoutShares(ClaimEntry entry) {
  for (PreparedDeviceSeen& device : entry.devices) device.share_id.clear();
  return entry;
}

Outcome JudgeSame(const ClaimEntry& first, const ClaimsAnswer& answer, const ClaimsSeen& claims) {
  if (const std::string fault = Fault(answer); !fault.empty()) return Failed(fault);
  const bool same = WithoutShares(answer.entries.at(claims.claim.uid)) == WithoutShares(first);
  return PassedIf(same, same ? "" : "another answer than the first");
}

Outcome JudgeDevices(const Observations& seen) {
  return WithPrepared(
      seen, &ClaimsSeen::prepare,
      [](const ClaimEntry& entry, const ClaimsAnswer&, const ClaimsSeen& claims) {
        const TestAllocation& held = claims.allocated;
        if (entry.devices.size() != 1) {
          return Failed(fmt::format("{} devices for an allocation of one", entry.devices.size()));
        }
        const PreparedDeviceSeen& device = entry.devices.front();
        return PassedIf(device.pool == held.pool && device.device == held.device,
                        Shown(device.pool + "/" + device.device));
      });
}

// An entry without request names means "for all requests", which is right for a claim with one
// request.
Outcome JudgeRequests(const Observations& seen) {
  return WithPrepared(
      seen, &ClaimsSeen::prepare,
      [](const ClaimEntry& entry, const ClaimsAnswer&, const ClaimsSeen& claims) {
        for (const PreparedDeviceSeen& device : entry.devices) {
          for (const std::string& request : device.requests) {
            if (request != claims.allocated.request) {
              return Failed(fmt::format("request_names has \"{}\", the claim has \"{}\"",
                                        Shown(request), claims.allocated.request));
            }
          }
        }
        return Passed();
      });
}

Outcome JudgeClaimAgain(const Observations& seen) {
  return WithPrepared(seen, &ClaimsSeen::prepare_again, JudgeSame);
}
Outcome JudgeOtherVersion(const Observations& seen) {
  return WithPrepared(seen, &ClaimsSeen::other_version, JudgeSame);
}
Outcome JudgePrepareAfter(const Observations& seen) {
  return WithPrepared(seen, &ClaimsSeen::prepare_after, JudgeSame);
}

// On two connections, as from a kubelet and the one that replaces it.
Outcome JudgePrepareParallel(const Observations& seen) {
  return WithPrepared(seen, &ClaimsSeen::prepare,
                      [](const ClaimEntry& first, const ClaimsAnswer&, const ClaimsSeen& claims) {
                        if (claims.prepare_parallel.empty()) return NotTried(claims);
                        for (const ClaimsAnswer& answer : claims.prepare_parallel) {
                          if (!answer.answer.status.ok())
                            return Failed(ShownStatus(answer.answer.status));
                          Outcome outcome = JudgeSame(first, answer, claims);
                          if (outcome.level != Level::kGood) return outcome;
                        }
                        return Passed(Counted(claims.prepare_parallel.size(), "call"));
                      });
}

// The good claim was prepared before, so its answer is known.
Outcome JudgeMixed(const Observations& seen) {
  return WithPrepared(
      seen, &ClaimsSeen::mixed,
      [](const ClaimEntry& first, const ClaimsAnswer& answer, const ClaimsSeen& claims) {
        if (const std::string fault = KeyFault(answer); !fault.empty()) return Failed(fault);
        if (answer.entries.at(answer.asked.back()).error.empty()) {
          return Failed("no error for the claim that does not exist");
        }
        const ClaimEntry& good = answer.entries.at(claims.claim.uid);
        return PassedIf(WithoutShares(good) == WithoutShares(first), Shown(good.error));
      });
}

// Judges a request that should be refused: an error of the whole call is accepted here.
Outcome JudgeRefusal(const Observations& seen, std::optional<ClaimsAnswer> ClaimsSeen::* which) {
  return WithCalls(seen, [&](const ClaimsSeen& claims) {
    if (!claims.no_claim.empty()) return NotChecked(claims.no_claim);
    const std::optional<ClaimsAnswer>& answer = claims.*which;
    return answer ? JudgeRefusedAnyhow(*answer) : NotTried(claims);
  });
}

Outcome JudgeWrongUid(const Observations& seen) {
  return JudgeRefusal(seen, &ClaimsSeen::wrong_uid);
}
Outcome JudgeNotAllocated(const Observations& seen) {
  return JudgeRefusal(seen, &ClaimsSeen::not_allocated);
}
Outcome JudgeUnprepare(const Observations& seen) {
  return WithClaim(seen, &ClaimsSeen::unprepare,
                   [](const ClaimsSeen&, const ClaimsAnswer& answer) { return JudgeDone(answer); });
}
Outcome JudgeUnprepareAgain(const Observations& seen) {
  return WithClaim(seen, &ClaimsSeen::unprepare_again,
                   [](const ClaimsSeen&, const ClaimsAnswer& answer) { return JudgeDone(answer); });
}
Outcome JudgeUnprepareDeleted(const Observations& seen) {
  return WithClaim(seen, &ClaimsSeen::unprepare_deleted,
                   [](const ClaimsSeen&, const ClaimsAnswer& answer) { return JudgeDone(answer); });
}

// Checks of calls that need no claim of the API server's.
std::vector<Check> CallChecks() {
  return {
      // dra/v1 and dra/v1beta1 types.go.
      {"claims.served", "Every offered version of DRAPlugin is served",
       "Register the services of k8s.io/kubelet/pkg/apis/dra on the endpoint, or do not list them.",
       JudgeClaimsServed},
      // dra/v1/api.proto: the map holds an entry for each claim asked for; here, none.
      {"claims.empty", "A request without claims is answered with no entries",
       "Loop over the claims and answer an empty map.", JudgeEmpty},
      // share_id came in 1.35: messages grow.
      {"claims.unknown-field",
       "NodePrepareResources takes a request with a field of a later version",
       "Skip unknown fields, as proto3 readers do.", JudgeClaimUnknownField},
      // A kubelet repeats it until it succeeds, and the Pod stays Terminating meanwhile.
      {"claims.unprepare-unknown", "Unpreparing a claim that was never prepared succeeds",
       "Answer an entry without error: kubelets repeat it until it succeeds, and the Pod stays "
       "Terminating until then.",
       JudgeUnprepareUnknown},
      // dra/v1/api.proto: a claim has an error of its own. A call carries all of a Pod.
      {"claims.error-per-claim",
       "A claim that does not exist is that claim's error, not the call's",
       "Put the sentence into the claim's entry: a failed call fails all of the Pod's claims.",
       JudgeMissing},
      // Several Pods start at once, each with a call of its own.
      {"claims.parallel", "Eight calls at once are each answered for their own claim",
       "Do not refuse while busy: wait for the lock; a call has 45 s.", JudgeClaimsInParallel},
  };
}

// Checks with a claim that is prepared and unprepared.
std::vector<Check> PreparedClaimChecks() {
  return {
      // manager.go, PrepareResources; 45 s are defaultClientCallTimeout.
      {"claims.prepare", "An allocated claim is prepared",
       "Read the claim from the API server and prepare what status.allocation names of yours.",
       JudgePrepare},
      // manager.go: (pool, device) is what health is joined by.
      {"claims.devices", "The answer names the devices of the allocation",
       "Copy pool and device of each allocation result of your driver.", JudgeDevices},
      // resourceclaim.BaseRequestRef: containers name the request, never "request/sub".
      {"claims.requests", "request_names are the claim's requests, without a subrequest",
       "Give the part before the slash: containers refer to that.", JudgeRequests},
      // After a restart of the kubelet every claim counts as not prepared (claiminfo.go).
      {"claims.prepare-again", "Preparing again gives the same answer",
       "Keep what was prepared, and answer it again: a restarted kubelet asks for every claim.",
       JudgeClaimAgain},
      // dra/v1beta1/conversion.go: share_id is the only difference.
      {"claims.versions-alike", "v1 and v1beta1 give the same answer",
       "Serve both from one source; a node's kubelet may be up- or downgraded.", JudgeOtherVersion},
      // A call that ran into its 45 s may still run when the kubelet asks again.
      {"claims.prepare-parallel", "Two prepares of one claim at once give the same answer",
       "Let one claim do one thing at a time; a kubelet gives up after 45 s and asks again.",
       JudgePrepareParallel},
      // manager.go: the first error aborts the Pod; the rest must be prepared next time.
      {"claims.mixed", "A bad claim in a call does not spoil a good one",
       "Go on after a claim's error.", JudgeMixed},
      // kubeletplugin/draplugin.go: "claim … got replaced".
      {"claims.wrong-uid", "A claim of the same name with another UID is refused",
       "Compare the UID: it is another claim, made after the first was deleted.", JudgeWrongUid},
      // draplugin.go: "not allocated".
      {"claims.not-allocated", "A claim without an allocation is refused",
       "Answer an error in its entry: there is nothing to prepare.", JudgeNotAllocated},
      // manager.go, UnprepareResources: before the Pod's end is reported.
      {"claims.unprepare", "A prepared claim is unprepared",
       "Undo what prepare did and answer an entry without error.", JudgeUnprepare},
      // The kubelet may lose the first answer.
      {"claims.unprepare-again", "Unpreparing again succeeds",
       "Answer success for what is done already.", JudgeUnprepareAgain},
      // A shared claim outlives its Pods: unprepared with the last, prepared again.
      {"claims.prepare-after", "An unprepared claim can be prepared again",
       "Forget a claim when it is unprepared, and give the same ids the next time.",
       JudgePrepareAfter},
      // A Pod deleted by force takes its template's claim along; unprepare comes later.
      {"claims.unprepare-deleted", "A claim is unprepared after its object was deleted",
       "Keep on disk what unprepare needs: the API server may not have the claim any more.",
       JudgeUnprepareDeleted},
  };
}

}  // namespace

std::vector<Check> ClaimChecks() {
  std::vector<Check> checks = CallChecks();
  const std::vector<Check> more = PreparedClaimChecks();
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

}  // namespace galen::conformance
