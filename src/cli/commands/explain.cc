// Tested by tests/e2e/explain_test.cc, as the program galen.
#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "alloc/explanation/explanation.h"
#include "alloc/what_if/change.h"
#include "alloc/what_if/relocation.h"
#include "base/data/yaml.h"
#include "base/files/posix_file_system.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/why.h"
#include "cli/output/placement_view.h"
#include "cli/placement/cluster_picture.h"
#include "cli/placement/pod_question.h"
#include "kube/request.h"

namespace galen::cli {
namespace {

StatusOr<std::string> ReadText(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  StatusOr<std::string> text = PosixFileSystem().Read(path);
  // What is wrong with a file that the command line names is wrong with the command line.
  if (!text.ok()) return InvalidArgument("{}", text.status().message());
  return text;
}

StatusOr<std::vector<Json>> ReadManifest(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  const auto documents = ParseYamlStream(text);
  if (!documents.ok()) return InvalidArgument("{}: {}", path, documents.status().message());
  StatusOr<std::vector<Json>> objects = ManifestObjects(*documents);
  if (!objects.ok()) return InvalidArgument("{}: {}", path, objects.status().message());
  return objects;
}

StatusOr<Json> FindClaim(Session& session, const ObjectKey& key) {
  ASSIGN_OR_RETURN(const std::vector<Json> found,
                   session.List(kube::kResourceClaims, key.ns,
                                {.field = "metadata.name=" + key.name, .label = ""}));
  if (found.empty()) {
    return NotFound("no ResourceClaim {} in {}", key.name,
                    key.ns.empty() ? "any namespace" : "namespace " + key.ns);
  }
  if (found.size() > 1) {
    return InvalidArgument("ResourceClaim {} is in {} namespaces; choose one by -n", key.name,
                           found.size());
  }
  return found.front();
}

StatusOr<PodQuestion> ReadQuestion(Session& session, const Options& options,
                                   const ExplainArguments& arguments, alloc::Picture& picture) {
  const Lookup lookup = [&](const kube::Resource& kind, const ObjectKey& key) -> StatusOr<Json> {
    StatusOr<Json> object = session.Fetch(kube::Get(kind, key.ns, key.name));
    if (object.status().code() != Code::kNotFound) return object;
    return NotFound("{} {} does not exist", kind.kind, ToString(key));
  };
  if (!arguments.file.empty()) {
    ASSIGN_OR_RETURN(const std::vector<Json> documents, ReadManifest(arguments.file));
    return QuestionOfManifest(documents, options.ns.empty() ? "default" : options.ns, lookup,
                              picture);
  }
  if (arguments.kind == "claim") {
    ASSIGN_OR_RETURN(const ObjectKey key, ParsePod(arguments.name, options.ns));
    ASSIGN_OR_RETURN(const Json claim, FindClaim(session, key));
    return QuestionOfClaim(claim);
  }
  ASSIGN_OR_RETURN(const ObjectKey key, ParsePod(arguments.name, options.ns));
  ASSIGN_OR_RETURN(const Json pod, FindPodObject(session, key));
  return QuestionOfPod(pod, lookup);
}

int CodeOf(alloc::Prospect prospect) {
  if (prospect == alloc::Prospect::kNow) return 0;
  return prospect == alloc::Prospect::kCannotTell ? kExitCannotTell : kExitDoesNotFit;
}

std::string TextOf(const PodQuestion& asked, const alloc::Explanation& explanation,
                   const alloc::Picture& picture, const Options& options) {
  if (options.output == "json") {
    return PlacementJson(asked, explanation, picture).DumpPretty(2) + "\n";
  }
  if (options.output == "yaml") return WriteYaml(PlacementJson(asked, explanation, picture));
  return PlacementText(asked, explanation, picture);
}

bool IsAboutChangesAlone(const ExplainArguments& arguments) {
  return !arguments.changes.empty() && arguments.kind.empty() && arguments.file.empty();
}

StatusOr<std::vector<alloc::Change>> ReadChanges(const std::vector<std::string>& texts) {
  std::vector<alloc::Change> changes;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(alloc::Change change, alloc::ParseChange(text));
    changes.push_back(std::move(change));
  }
  return changes;
}

// As if all victims were gone: whoever is asked for now competes with none of them.
alloc::Picture WithoutVictims(alloc::Changed changed) {
  for (const std::size_t victim : changed.victims) {
    changed.picture.held[victim].allocation.devices.clear();
  }
  return std::move(changed.picture);
}

ExplainEnd CostOf(const std::vector<alloc::Change>& changes, const alloc::Changed& changed,
                  const alloc::Picture& before, const alloc::Options& allocator,
                  const Options& options) {
  using Verdict = alloc::Relocation::Verdict;
  const alloc::Relocation relocation = alloc::Relocate(changed, before, allocator);
  ExplainEnd end;
  if (options.output == "json" || options.output == "yaml") {
    const Json json = RelocationJson(changes, relocation, changed.picture);
    end.text = options.output == "json" ? json.DumpPretty(2) + "\n" : WriteYaml(json);
  } else {
    end.text = RelocationText(changes, relocation, changed.picture);
  }
  if (relocation.verdict == Verdict::kNotAll) end.code = kExitDoesNotFit;
  // What is not known may hold devices, or lack them.
  if (relocation.verdict == Verdict::kCannotTell || !changed.picture.gaps.empty()) {
    end.code = kExitCannotTell;
  }
  return end;
}

StatusOr<ExplainEnd> PlacedAlready(const PodQuestion& asked, const Options& options, bool changed) {
  if (changed) {
    return InvalidArgument("{} is on {} already: --if alone says what it would lose", asked.subject,
                           asked.placed_on);
  }
  const Json json = Json::MakeObject({{"subject", asked.subject},
                                      {"prospect", "Placed"},
                                      {"nodes", Json::MakeArray({asked.placed_on})}});
  if (options.output == "json") return ExplainEnd{.text = json.DumpPretty(2) + "\n"};
  if (options.output == "yaml") return ExplainEnd{.text = WriteYaml(json)};
  const std::string text = fmt::format("{} is on {} already; galen why says how its devices are.",
                                       asked.subject, asked.placed_on);
  return ExplainEnd{.text = Printable(text) + "\n"};
}

Status RefuseWrongUse(const ExplainArguments& arguments) {
  const bool kind = arguments.kind == "pod" || arguments.kind == "claim";
  if (IsAboutChangesAlone(arguments)) return OkStatus();
  if (!arguments.file.empty()) {
    if (arguments.kind.empty() && arguments.name.empty()) return OkStatus();
    return InvalidArgument("either -f FILE, or pod NAME or claim NAME");
  }
  if (kind && !arguments.name.empty()) return OkStatus();
  return InvalidArgument("what is to be explained? pod NAME, claim NAME, -f FILE or --if CHANGE");
}

}  // namespace

StatusOr<ExplainEnd> Explain(const Options& options, const ExplainArguments& arguments) {
  RETURN_IF_ERROR(RefuseWrongUse(arguments));
  ASSIGN_OR_RETURN(const std::vector<alloc::Change> changes, ReadChanges(arguments.changes));
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const auto session, Session::Open(*loop, options));
  ASSIGN_OR_RETURN(ClusterPicture cluster, ReadClusterPicture(*session, !changes.empty()));
  if (!changes.empty()) {
    ASSIGN_OR_RETURN(alloc::Changed changed, alloc::Apply(changes, cluster.picture));
    if (IsAboutChangesAlone(arguments)) {
      return CostOf(changes, changed, cluster.picture, cluster.options, options);
    }
    cluster.picture = WithoutVictims(std::move(changed));
  }
  ASSIGN_OR_RETURN(const PodQuestion asked,
                   ReadQuestion(*session, options, arguments, cluster.picture));
  if (!asked.placed_on.empty()) return PlacedAlready(asked, options, !changes.empty());
  const alloc::Explanation explanation =
      alloc::Explain(cluster.picture, asked.question, cluster.options);
  return ExplainEnd{.code = CodeOf(explanation.prospect),
                    .text = TextOf(asked, explanation, cluster.picture, options)};
}

}  // namespace galen::cli
