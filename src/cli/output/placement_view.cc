#include "cli/output/placement_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "alloc/explanation/funnel.h"
#include "base/text.h"
#include "cli/output/table.h"

namespace galen::cli {
namespace {

using alloc::Explanation;
using alloc::Prospect;

// Nodes that a line names.
constexpr std::size_t kNodesShown = 3;

std::string DevicesOfExample(const Explanation& explanation) {
  std::vector<std::string> names;
  for (const alloc::Allocation& allocation : explanation.example) {
    for (const alloc::AllocatedDevice& device : allocation.devices) {
      names.push_back(device.id.device);
    }
  }
  return alloc::Listed(names, 8);
}

std::string VerdictText(const PodQuestion& asked, const Explanation& explanation) {
  const std::string& subject = asked.subject;
  switch (explanation.prospect) {
    case Prospect::kNow: {
      const std::string where = alloc::Listed(explanation.nodes, kNodesShown);
      const std::string devices = DevicesOfExample(explanation);
      if (devices.empty()) return fmt::format("{} can be placed now: on {}.", subject, where);
      return fmt::format("{} can be placed now: on {}; on {} it would get {}.", subject, where,
                         explanation.nodes.front(), devices);
    }
    case Prospect::kLater:
      return fmt::format("{} cannot be placed now.", subject);
    case Prospect::kNever:
      return fmt::format(
          "{} can never be placed as the cluster is: it would not fit if all devices "
          "were free.",
          subject);
    case Prospect::kRefused:
      return fmt::format("{} is refused by kube-scheduler: {}.", subject, explanation.message);
    case Prospect::kCannotTell:
      return fmt::format("Whether {} can be placed cannot be said: {}.", subject,
                         explanation.message);
  }
  return "";
}

std::string WantedText(const alloc::RequestFunnel& request) {
  const std::string wanted =
      request.all ? "all devices" : fmt::format("{} devices", request.wanted);
  return fmt::format("request {} of claim {} wants {} of class {}, which has {}", request.request,
                     request.claim.name, request.wanted == 1 && !request.all ? "1 device" : wanted,
                     request.class_name, request.of_class);
}

std::string FunnelText(const alloc::RequestFunnel& request) {
  std::string text = "  " + Printable(WantedText(request)) + "\n";
  std::vector<std::vector<Table::Cell>> rows;
  for (const alloc::FunnelStep& step : request.steps) {
    rows.push_back({fmt::format("{:>7}", step.devices), step.text, Printable(step.detail)});
  }
  const std::string alone =
      request.to_be_had == 0
          ? ""
          : fmt::format("enough for this request alone on {} node{}", request.nodes_alone,
                        request.nodes_alone == 1 ? "" : "s");
  rows.push_back({fmt::format("{:>7}", request.to_be_had), "to be had", alone});
  Table table({"", "", ""});
  Table::Widths widths(3, 0);
  for (const auto& row : rows) table.Add(row);
  table.Widen(widths);
  for (const auto& row : rows) text += Table::Line(row, widths, false);
  return text;
}

// A list under a heading, its items below one another.
std::string Block(std::string_view heading, const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += fmt::format("  {:<15} {}\n", text.empty() ? heading : "", Printable(item));
  }
  return text;
}

Json::Array Texts(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

std::vector<std::string> NamesOf(const std::vector<ObjectKey>& keys) {
  std::vector<std::string> names;
  for (const ObjectKey& key : keys) names.push_back(ToString(key));
  return names;
}

std::vector<std::string> NamesOf(const std::vector<DeviceId>& ids) {
  std::vector<std::string> names;
  for (const DeviceId& id : ids) names.push_back(ToString(id));
  return names;
}

std::string WordOf(alloc::Relocation::Verdict verdict) {
  switch (verdict) {
    case alloc::Relocation::Verdict::kAll:
      return "All";
    case alloc::Relocation::Verdict::kNotAll:
      return "NotAll";
    case alloc::Relocation::Verdict::kCannotTell:
      return "CannotTell";
  }
  return "";
}

std::string SummaryOf(const alloc::Relocation& relocation) {
  const std::size_t all = relocation.victims.size();
  if (all == 0) return "nobody loses a device";
  const auto placed = std::count_if(relocation.victims.begin(), relocation.victims.end(),
                                    [](const alloc::Victim& one) { return !one.node.empty(); });
  const std::string lose =
      all == 1 ? "1 claim loses devices" : fmt::format("{} claims lose devices", all);
  switch (relocation.verdict) {
    case alloc::Relocation::Verdict::kAll:
      return lose + (all == 1 ? ", and can have others" : ", and all can have others at once");
    case alloc::Relocation::Verdict::kNotAll:
      return fmt::format("{}, and others were found for {} of them", lose, placed);
    case alloc::Relocation::Verdict::kCannotTell:
      return fmt::format("{}, and others were found for {} of them; not all ways could be tried",
                         lose, placed);
  }
  return lose;
}

Json FunnelJson(const alloc::RequestFunnel& request) {
  Json::Array steps;
  for (const alloc::FunnelStep& step : request.steps) {
    steps.push_back(Json::MakeObject(
        {{"code", step.code}, {"devices", step.devices}, {"detail", step.detail}}));
  }
  Json json = Json::MakeObject({{"claim", ToString(request.claim)},
                                {"request", request.request},
                                {"class", request.class_name},
                                {"mode", request.all ? "All" : "ExactCount"},
                                {"ofClass", request.of_class},
                                {"toBeHad", request.to_be_had},
                                {"nodesAlone", request.nodes_alone},
                                {"steps", std::move(steps)}});
  if (!request.all) json["count"] = request.wanted;
  return json;
}

}  // namespace

std::string PlacementText(const PodQuestion& asked, const Explanation& explanation,
                          const alloc::Picture& picture) {
  std::string text = Printable(VerdictText(asked, explanation)) + "\n";
  for (const alloc::RequestFunnel& request : explanation.requests) text += FunnelText(request);
  std::vector<std::string> misses, releases;
  for (const alloc::NearMiss& miss : explanation.near_misses) misses.push_back(miss.text);
  for (const alloc::OtherRelease& other : explanation.other_releases) {
    releases.push_back(fmt::format("kube-scheduler 1.{} {}", other.minor, other.text));
  }
  text += Block("would fit if", misses);
  text += Block("differs", releases);
  text += Block("beware", explanation.warnings);
  // The first one is in the verdict.
  const bool shown = explanation.prospect == Prospect::kCannotTell && !picture.gaps.empty();
  text += Block("not known", {picture.gaps.begin() + (shown ? 1 : 0), picture.gaps.end()});
  text += Block("not looked at", asked.notes);
  return text;
}

std::string RelocationText(const std::vector<alloc::Change>& changes,
                           const alloc::Relocation& relocation, const alloc::Picture& picture) {
  std::vector<std::string> words;
  for (const alloc::Change& change : changes) words.push_back(ToString(change));
  std::string text =
      Printable(fmt::format("If {}: {}.", fmt::join(words, " and "), SummaryOf(relocation))) + "\n";
  Table table({"CLAIM", "PODS", "LOSES", "CAN HAVE", "ON"});
  for (const alloc::Victim& victim : relocation.victims) {
    const bool placed = !victim.node.empty();
    table.Add({ToString(victim.claim), alloc::Listed(NamesOf(victim.pods), kNodesShown),
               alloc::Listed(NamesOf(victim.lost), kNodesShown),
               placed ? alloc::Listed(NamesOf(victim.found), kNodesShown) : "nothing",
               victim.node});
  }
  if (!table.empty()) text += table.Text(false);
  text += Block("could not start anew", NamesOf(relocation.blocked));
  text += Block("not known", picture.gaps);
  return text;
}

Json RelocationJson(const std::vector<alloc::Change>& changes, const alloc::Relocation& relocation,
                    const alloc::Picture& picture) {
  Json::Array words, victims;
  for (const alloc::Change& change : changes) words.push_back(ToString(change));
  for (const alloc::Victim& victim : relocation.victims) {
    victims.push_back(Json::MakeObject({{"claim", ToString(victim.claim)},
                                        {"pods", Texts(NamesOf(victim.pods))},
                                        {"lost", Texts(NamesOf(victim.lost))},
                                        {"node", victim.node},
                                        {"found", Texts(NamesOf(victim.found))}}));
  }
  return Json::MakeObject({{"changes", std::move(words)},
                           {"verdict", WordOf(relocation.verdict)},
                           {"victims", std::move(victims)},
                           {"blocked", Texts(NamesOf(relocation.blocked))},
                           {"gaps", Texts(picture.gaps)}});
}

Json PlacementJson(const PodQuestion& asked, const Explanation& explanation,
                   const alloc::Picture& picture) {
  Json::Array allocations, requests, misses, releases;
  for (const alloc::Allocation& allocation : explanation.example) {
    allocations.push_back(alloc::WriteAllocation(allocation));
  }
  for (const alloc::RequestFunnel& request : explanation.requests) {
    requests.push_back(FunnelJson(request));
  }
  for (const alloc::NearMiss& miss : explanation.near_misses) {
    misses.push_back(Json::MakeObject({{"code", miss.code}, {"text", miss.text}}));
  }
  for (const alloc::OtherRelease& other : explanation.other_releases) {
    releases.push_back(
        Json::MakeObject({{"release", fmt::format("1.{}", other.minor)}, {"text", other.text}}));
  }
  return Json::MakeObject({{"subject", asked.subject},
                           {"prospect", ToString(explanation.prospect)},
                           {"message", explanation.message},
                           {"nodes", Texts(explanation.nodes)},
                           {"allocations", std::move(allocations)},
                           {"requests", std::move(requests)},
                           {"wouldFitIf", std::move(misses)},
                           {"otherReleases", std::move(releases)},
                           {"warnings", Texts(explanation.warnings)},
                           {"gaps", Texts(picture.gaps)},
                           {"notes", Texts(asked.notes)}});
}

}  // namespace galen::cli
