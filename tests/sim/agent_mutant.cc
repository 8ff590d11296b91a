#include "tests/sim/agent_mutant.h"

#include "base/check.h"
#include "base/data/json.h"

namespace galen::sim {
namespace {

bool IsPodWrite(const net::HttpRequest& request) {
  return request.path.starts_with("/api/") && request.path.find("/pods/") != std::string::npos;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool Says(const net::HttpRequest& write, std::string_view text) {
  return write.body.find(text) != std::string::npos;
}

// Those that write the right thing about the wrong object.
net::HttpRequest MutatedByOrder(AgentMutant mutant, net::HttpRequest write) {
  if (mutant == AgentMutant::kMixesSerials && !IsPodWrite(write)) {
    write.body = Replaced(write.body, "serial-of-gpu-0", "serial-of-gpu-3");
  }
  if (mutant == AgentMutant::kKeepsTheGroupsDevice &&
      write.path.find("/pods/ring-") != std::string::npos) {
    write.body = Replaced(write.body, "nic-3 ", "nic-2 ");
  }
  return write;
}

}  // namespace

std::string_view ToString(AgentMutant mutant) {
  switch (mutant) {
    case AgentMutant::kNone:
      return "sound";
    case AgentMutant::kForgetsItsJournal:
      return "forgets its journal";
    case AgentMutant::kReadsNoJournal:
      return "reads no journal";
    case AgentMutant::kRecordsLate:
      return "records late";
    case AgentMutant::kHealthyForEver:
      return "says Healthy for ever";
    case AgentMutant::kPublishesUnknownLate:
      return "publishes late that nothing is known";
    case AgentMutant::kPublishesAnother:
      return "publishes another's device on a Pod";
    case AgentMutant::kListsAnother:
      return "lists another's device";
    case AgentMutant::kWritesForNothing:
      return "writes for nothing";
    case AgentMutant::kDropsAChange:
      return "drops a change";
    case AgentMutant::kStopsPublishing:
      return "stops publishing";
    case AgentMutant::kDatesBack:
      return "dates back";
    case AgentMutant::kCountsTwice:
      return "counts Events twice";
    case AgentMutant::kWritesAnothers:
      return "writes what is another's";
    case AgentMutant::kForgetsTheFirstEvent:
      return "forgets the first Event";
    case AgentMutant::kForgetsItsRecords:
      return "forgets its records";
    case AgentMutant::kMixesSerials:
      return "mixes serials";
    case AgentMutant::kKeepsTheGroupsDevice:
      return "keeps the group's device";
    case AgentMutant::kDeafAfterASecond410:
      return "is deaf after a second 410";
    case AgentMutant::kCountsOnce:
      return "counts each Event once";
    case AgentMutant::kRecordsAnothers:
      return "records another's device";
    case AgentMutant::kTakesOldReports:
      return "takes old reports";
    case AgentMutant::kNeverResets:
      return "never resets a device";
  }
  GALEN_UNREACHABLE();
}

bool IsAgentWrite(const net::HttpRequest& request) {
  if (request.method != "PATCH" || request.path.find("/status") == std::string::npos) return false;
  return IsPodWrite(request) || request.path.find("/nodedevicehealths/") != std::string::npos;
}

bool IsEventWrite(const net::HttpRequest& request) {
  return (request.method == "POST" || request.method == "PATCH") &&
         request.path.find("/events") != std::string::npos;
}

std::optional<net::HttpRequest> MutatedEvent(AgentMutant mutant, const net::HttpRequest& write) {
  if (mutant == AgentMutant::kForgetsTheFirstEvent && write.method == "POST" &&
      Says(write, "DeviceUnhealthy")) {
    return std::nullopt;
  }
  net::HttpRequest other = write;
  StatusOr<Json> body = Json::Parse(write.body);
  const bool miscounts = mutant == AgentMutant::kCountsTwice || mutant == AgentMutant::kCountsOnce;
  if (!miscounts || !body.ok() || !body->Has("count")) return other;
  (*body)["count"] =
      mutant == AgentMutant::kCountsOnce ? std::int64_t{1} : 2 * (*body)["count"].AsInt();
  other.body = body->Dump();
  return other;
}

std::string ObjectOf(const net::HttpRequest& request) {
  return request.path.substr(0, request.path.find("/status"));
}

std::optional<net::HttpRequest> Mutated(AgentMutant mutant, const net::HttpRequest& write,
                                        int number) {
  const bool to_pod = IsPodWrite(write);
  switch (mutant) {
    case AgentMutant::kNone:
    case AgentMutant::kForgetsItsJournal:
    case AgentMutant::kReadsNoJournal:
    case AgentMutant::kRecordsLate:
    case AgentMutant::kWritesForNothing:
    case AgentMutant::kCountsTwice:
    case AgentMutant::kForgetsTheFirstEvent:
    case AgentMutant::kForgetsItsRecords:
    case AgentMutant::kDeafAfterASecond410:
    case AgentMutant::kCountsOnce:
    case AgentMutant::kRecordsAnothers:
    case AgentMutant::kTakesOldReports:
    case AgentMutant::kNeverResets:
      return write;
    case AgentMutant::kMixesSerials:
    case AgentMutant::kKeepsTheGroupsDevice:
      return MutatedByOrder(mutant, write);
    case AgentMutant::kWritesAnothers: {
      net::HttpRequest other = write;
      if (to_pod) {
        other.body = Replaced(write.body, "\"galen.dev/devices\":",
                              "\"example.com/theirs\":\"x\",\"galen.dev/devices\":");
      }
      return other;
    }
    case AgentMutant::kHealthyForEver:
    case AgentMutant::kPublishesUnknownLate:
      if (to_pod && Says(write, "Unknown")) return std::nullopt;
      return write;
    case AgentMutant::kPublishesAnother: {
      net::HttpRequest other = write;
      if (to_pod) other.body = Replaced(write.body, "gpu-0 ", "gpu-3 ");
      return other;
    }
    case AgentMutant::kListsAnother: {
      // There a name stands at the end of an id, "gpu.example.com/claim=UID-gpu-0".
      net::HttpRequest other = write;
      if (to_pod) other.body = Replaced(write.body, "gpu-0\"", "gpu-3\"");
      return other;
    }
    case AgentMutant::kDropsAChange:
      // Not all, or the Pods would not even start.
      if (to_pod && Says(write, "Unhealthy") && number % 2 == 0) return std::nullopt;
      return write;
    case AgentMutant::kDatesBack: {
      net::HttpRequest other = write;
      // The simulation begins at 14:00.
      if (!to_pod && number > 4) other.body = Replaced(write.body, "T14:", "T13:");
      return other;
    }
    case AgentMutant::kStopsPublishing:
      if (!to_pod && number > 10) return std::nullopt;
      return write;
  }
  GALEN_UNREACHABLE();
}

}  // namespace galen::sim
