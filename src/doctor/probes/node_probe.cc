#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "doctor/probes/probes.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/typed.h"

namespace galen::doctor {
namespace {

namespace fs = std::filesystem;
namespace wire = galen::inspect::v1;

constexpr char kGetInfo[] = "/pluginregistration.Registration/GetInfo";
constexpr char kGetStatus[] = "/galen.inspect.v1.Inspect/GetStatus";
constexpr char kListDrivers[] = "/galen.inspect.v1.Inspect/ListDrivers";
constexpr std::size_t kEntriesMax = 256;  // a node has a handful of plugins
constexpr int kDepthMax = 8;              // as deep as the agent looks

RegistryEntry::Kind KindOf(const fs::file_status& status) {
  switch (status.type()) {
    case fs::file_type::socket:
      return RegistryEntry::Kind::kSocket;
    case fs::file_type::regular:
      return RegistryEntry::Kind::kFile;
    case fs::file_type::symlink:
      return RegistryEntry::Kind::kSymlink;
    default:
      return RegistryEntry::Kind::kOther;
  }
}

Seen<PluginInfo> ReadInfo(const StatusOr<std::string>& answer) {
  if (!answer.ok()) return answer.status();
  const auto info = rpc::Decode<pluginregistration::PluginInfo>(*answer);
  if (!info.ok()) return info.status();
  return PluginInfo{
      .type = info->type(),
      .name = info->name(),
      .endpoint = info->endpoint(),
      .versions = {info->supported_versions().begin(), info->supported_versions().end()}};
}

Seen<AgentStatusSeen> ReadStatus(const StatusOr<std::string>& answer) {
  if (!answer.ok()) return answer.status();
  const auto status = rpc::Decode<wire::GetStatusResponse>(*answer);
  if (!status.ok()) return status.status();
  return AgentStatusSeen{.version = status->version(),
                         .node = status->node(),
                         .role = status->role(),
                         .troubles = {status->troubles().begin(), status->troubles().end()},
                         .holding_differences = {status->holding_differences().begin(),
                                                 status->holding_differences().end()}};
}

Seen<std::vector<AgentDriver>> ReadDrivers(const StatusOr<std::string>& answer) {
  if (!answer.ok()) return answer.status();
  const auto list = rpc::Decode<wire::ListDriversResponse>(*answer);
  if (!list.ok()) return list.status();
  std::vector<AgentDriver> drivers;
  for (const wire::Driver& driver : list->drivers()) {
    drivers.push_back({.name = driver.name(),
                       .endpoint = driver.endpoint(),
                       .health = driver.health(),
                       .trouble = driver.trouble(),
                       .connected = driver.connected(),
                       .registration_socket = driver.registration_socket()});
  }
  return drivers;
}

std::vector<std::string> ReadHealthSources(const StatusOr<std::string>& answer) {
  std::vector<std::string> sources;
  if (!answer.ok()) return sources;
  const auto list = rpc::Decode<wire::ListDriversResponse>(*answer);
  if (!list.ok()) return sources;
  for (const wire::Driver& source : list->health_sources()) {
    if (!source.name().empty()) sources.push_back(source.name());
  }
  return sources;
}

// Compares the texts only: following symlinks is the kubelet's task.
bool IsBelow(const std::string& path, const std::string& root) {
  const fs::path place = fs::path(path).lexically_normal();
  const fs::path above = fs::path(root + "/").lexically_normal().parent_path();
  return std::mismatch(above.begin(), above.end(), place.begin(), place.end()).first == above.end();
}

// The error without the path that the dialer and the system add: a report shows it once.
Status WithoutPath(const Status& status, const std::string& path) {
  std::string message = status.message();
  for (const std::string& prefix : {"dial unix:" + path + ": ", "connect to unix:" + path + ": "}) {
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
  }
  return {status.code(), std::move(message)};
}

}  // namespace

SocketCall::SocketCall(Loop& loop, net::Dialer& dialer, const std::string& path, std::string method,
                       std::string request, Done done)
    : loop_(loop),
      path_(path),
      method_(std::move(method)),
      request_(std::move(request)),
      done_(std::move(done)) {
  net::DialOptions options;
  options.target = "unix:" + path;
  options.connect_timeout = kConnectWithin;
  dialling_ = dialer.Dial(options, [this](StatusOr<std::unique_ptr<net::Connection>> connection) {
    OnConnected(std::move(connection));
  });
}

void SocketCall::OnConnected(StatusOr<std::unique_ptr<net::Connection>> connection) {
  if (!connection.ok()) {
    const Status why = WithoutPath(connection.status(), path_);
    done_(why, why);
    return;
  }
  connection_ = std::move(connection).value();
  if (method_.empty()) {
    done_(OkStatus(), std::string());
    return;
  }
  channel_.emplace(loop_, *connection_);
  call_ =
      channel_->Unary(method_, request_, kAnswerWithin,
                      [this](const StatusOr<std::string>& answer) { done_(OkStatus(), answer); });
}

StatusOr<std::vector<RegistryEntry>> ListRegistry(const std::string& directory) {
  std::error_code error;
  fs::recursive_directory_iterator it(directory, error);
  if (error) return ErrnoStatus(error.value(), "list " + directory);
  std::vector<RegistryEntry> entries;
  for (const fs::recursive_directory_iterator end; it != end; it.increment(error)) {
    if (error) return ErrnoStatus(error.value(), "list " + directory);
    const fs::file_status status = it->symlink_status(error);
    if (error) continue;  // it was removed meanwhile
    const bool hidden = it->path().filename().string().starts_with('.');
    if (status.type() == fs::file_type::directory) {
      if (hidden || it.depth() >= kDepthMax) it.disable_recursion_pending();
      continue;
    }
    if (entries.size() >= kEntriesMax) {
      return ResourceExhausted("{} holds more than {} names", directory, kEntriesMax);
    }
    entries.push_back({.path = it->path().string(), .kind = KindOf(status), .hidden = hidden});
  }
  std::ranges::sort(entries, {}, &RegistryEntry::path);
  return entries;
}

NodeProbe::NodeProbe(Loop& loop, net::Dialer& dialer, std::function<void()> done)
    : loop_(loop), dialer_(dialer), done_(std::move(done)) {}

void NodeProbe::AskDrivers(std::vector<RegistryEntry>& entries, const std::string& kubelet_root) {
  for (RegistryEntry& entry : entries) {
    if (entry.kind == RegistryEntry::Kind::kSocket && !entry.hidden) AskDriver(entry, kubelet_root);
  }
}

void NodeProbe::AskDriver(RegistryEntry& entry, const std::string& kubelet_root) {
  Ask(entry.path, kGetInfo,
      [this, &entry, kubelet_root](const Status& connected, const StatusOr<std::string>& answer) {
        entry.connected = connected;
        entry.info = ReadInfo(answer);
        if (entry.is_driver()) AskEndpoint(entry, kubelet_root);
      });
}

void NodeProbe::AskEndpoint(RegistryEntry& entry, const std::string& kubelet_root) {
  if (!IsBelow(entry.endpoint(), kubelet_root)) {
    entry.endpoint_listens = FailedPrecondition("it is not below {}", kubelet_root);
    return;
  }
  Ask(entry.endpoint(), "", [&entry](const Status& connected, const StatusOr<std::string>&) {
    entry.endpoint_listens = connected.ok() ? Seen<bool>(true) : Seen<bool>(connected);
  });
}

void NodeProbe::AskAgent(const std::string& socket, AgentSeen& agent) {
  agent.socket = socket;
  Ask(socket, kGetStatus, [&agent](const Status&, const StatusOr<std::string>& answer) {
    agent.status = ReadStatus(answer);
  });
  Ask(socket, kListDrivers, [&agent](const Status&, const StatusOr<std::string>& answer) {
    agent.drivers = ReadDrivers(answer);
    agent.health_sources = ReadHealthSources(answer);
  });
}

void NodeProbe::Ask(const std::string& path, const std::string& method, SocketCall::Done take) {
  ++open_;
  calls_.push_back(std::make_unique<SocketCall>(
      loop_, dialer_, path, method, "",
      [this, take = std::move(take)](const Status& connected, const StatusOr<std::string>& answer) {
        take(connected, answer);
        Finish();
      }));
}

void NodeProbe::Start() {
  started_ = loop_.After(Duration::zero(), [this] { Finish(); });
}

void NodeProbe::Finish() {
  if (--open_ == 0) done_();
}

}  // namespace galen::doctor
