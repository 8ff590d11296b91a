#include "bench/pod_list.h"

#include <algorithm>
#include <charconv>

#include "base/data/json.h"

namespace galen::bench {
namespace {

constexpr int kVariables = 40;
constexpr int kManagers = 4;

std::size_t NumberOf(std::string_view path, std::string_view name) {
  const std::size_t at = path.find(name);
  if (at == std::string_view::npos) return 0;
  std::size_t number = 0;
  std::from_chars(path.data() + at + name.size(), path.data() + path.size(), number);
  return number;
}

Json Environment(int index) {
  Json variables = Json(Json::Array());
  for (int i = 0; i < kVariables; ++i) {
    variables.Append(Json::MakeObject(
        {{"name", fmt::format("TRAINING_PARAMETER_{}", i)},
         {"value", fmt::format("s3://datasets/run-{}/shard-{:05}/part-{:03}.tar", index, i, i)}}));
  }
  return variables;
}

// What server-side apply notes of each writer; a third of a real Pod's bytes.
Json ManagedFields() {
  Json managers = Json(Json::Array());
  for (int i = 0; i < kManagers; ++i) {
    Json fields = Json(Json::Object());
    for (int k = 0; k < kVariables / 2; ++k) {
      fields[fmt::format("k:{{\"name\":\"TRAINING_PARAMETER_{}\"}}", k)] =
          Json::MakeObject({{".", Json(Json::Object())}, {"f:value", Json(Json::Object())}});
    }
    managers.Append(Json::MakeObject({{"manager", fmt::format("controller-{}", i)},
                                      {"operation", "Update"},
                                      {"apiVersion", "v1"},
                                      {"time", "2026-11-21T14:02:11Z"},
                                      {"fieldsType", "FieldsV1"},
                                      {"fieldsV1", std::move(fields)}}));
  }
  return managers;
}

Json PodSpec(int index) {
  const Json use = Json::MakeObject({{"name", "gpu"}});
  const Json container =
      Json::MakeObject({{"name", "train"},
                        {"image", "registry.example.com/train@sha256:" + std::string(64, 'a')},
                        {"env", Environment(index)},
                        {"resources", Json::MakeObject({{"claims", Json::MakeArray({use})}})}});
  return Json::MakeObject(
      {{"nodeName", fmt::format("node-{}", index / 8)},
       {"resourceClaims",
        Json::MakeArray({Json::MakeObject(
            {{"name", "gpu"}, {"resourceClaimName", fmt::format("gpu-{}", index)}})})},
       {"containers", Json::MakeArray({container})}});
}

Json PodStatus() {
  const Json container = Json::MakeObject(
      {{"name", "train"},
       {"ready", true},
       {"restartCount", 0},
       {"state", Json::MakeObject(
                     {{"running", Json::MakeObject({{"startedAt", "2026-11-21T14:02:11Z"}})}})}});
  return Json::MakeObject({{"phase", "Running"},
                           {"hostIP", "10.0.0.1"},
                           {"podIP", "10.1.0.1"},
                           {"containerStatuses", Json::MakeArray({container})}});
}

}  // namespace

std::string PodJson(int index) {
  return Json::MakeObject(
             {{"metadata",
               Json::MakeObject({{"name", fmt::format("trainer-{}", index)},
                                 {"namespace", "train"},
                                 {"uid", fmt::format("7f2d53c6-0000-4000-8000-{:012}", index)},
                                 {"resourceVersion", std::to_string(1000 + index)},
                                 {"creationTimestamp", "2026-11-21T14:00:00Z"},
                                 {"managedFields", ManagedFields()}})},
              {"spec", PodSpec(index)},
              {"status", PodStatus()}})
      .Dump();
}

PageAsked ParsePage(std::string_view path) {
  return {.limit = NumberOf(path, "limit="),
          .first = NumberOf(path, "continue="),
          .watch = path.find("watch=") != std::string_view::npos};
}

PodListServer::PodListServer(int pods) {
  for (int i = 0; i < pods; ++i) pods_.push_back(PodJson(i));
}

void PodListServer::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  const PageAsked asked = ParsePage(exchange->request().path);
  if (!asked.watch) return net::Respond(*exchange, 200, "application/json", ListText(asked));
  // An open watch without events: the informer is content and goes on.
  exchange->Head(200, {{"content-type", "application/json"}});
  watches_.push_back(std::move(exchange));
}

std::string PodListServer::ListText(const PageAsked& asked) const {
  const std::size_t first = std::min(asked.first, pods_.size());
  const std::size_t count =
      asked.limit == 0 ? pods_.size() - first : std::min(asked.limit, pods_.size() - first);
  std::string resume;
  if (first + count < pods_.size()) resume = fmt::format(",\"continue\":\"{}\"", first + count);
  std::string text = fmt::format(
      R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"9"{}}},"items":[)",
      resume);
  for (std::size_t i = first; i < first + count; ++i) {
    if (i > first) text += ",";
    text += pods_[i];
  }
  return text + "]}";
}

}  // namespace galen::bench
