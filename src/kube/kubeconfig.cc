#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/data/base64.h"
#include "base/data/yaml.h"
#include "kube/config.h"
#include "kube/proxy.h"
#include "kube/url.h"

namespace galen::kube {
namespace {

// Far more than a thousand contexts; keeps a path that is not a kubeconfig from being read in whole
// as one.
constexpr std::size_t kFileBytesMax = 1024 * 1024;
constexpr std::size_t kFaultsMax = 50;  // reported; a broken file must not fill the screen

// Faults of the files, collected so that a person mends all of them at once.
class Faults {
 public:
  void Add(std::string_view file, std::string_view field, std::string_view what) {
    ++count_;
    if (count_ > kFaultsMax) return;
    if (!text_.empty()) text_ += "; ";
    text_ += field.empty() ? fmt::format("{}: {}", file, what)
                           : fmt::format("{}: {}: {}", file, field, what);
  }
  bool any() const { return count_ > 0; }
  Status ToStatus() const {
    if (count_ <= kFaultsMax) return InvalidArgument("{}", text_);
    return InvalidArgument("{}; and {} more", text_, count_ - kFaultsMax);
  }

 private:
  std::size_t count_ = 0;
  std::string text_;
};

// One file, read and parsed.
struct Source {
  std::string path;
  Json root;
};

// A named cluster, user or context, and where it stands.
struct Entry {
  const Source* source = nullptr;
  std::string field;  // "users[0].user"
  const Json* body = nullptr;
};
using Section = std::map<std::string, Entry>;

// All files together. Entries point into the sources, which outlive this.
struct Merged {
  Section clusters, users, contexts;
  std::string current_context;
};

// Reads the fields of one entry; reports what is wrong with them.
class FieldReader {
 public:
  FieldReader(FileSystem& files, Faults& faults, Entry entry)
      : files_(files), faults_(faults), entry_(std::move(entry)) {}

  const Json& body() const { return *entry_.body; }
  bool Has(std::string_view name) const { return !body()[name].is_null(); }
  void Fault(std::string_view name, std::string_view what) {
    faults_.Add(entry_.source->path, fmt::format("{}.{}", entry_.field, name), what);
  }
  std::string Text(std::string_view name) {
    const Json& value = body()[name];
    if (!value.is_null() && !value.is_string()) Fault(name, "must be text; put it in quotes");
    return value.AsString();
  }
  // Reported once; what follows goes on with "", so that other faults are found as well.
  std::string Needed(std::string_view name) {
    if (!Has(name)) Fault(name, "is missing");
    return Text(name);
  }
  bool Flag(std::string_view name) {
    const Json& value = body()[name];
    if (!value.is_null() && !value.is_bool()) Fault(name, "must be true or false");
    return value.AsBool();
  }
  // Base64 of PEM.
  std::string Pem(std::string_view name) {
    const std::string text = Text(name);
    if (text.empty()) return "";
    StatusOr<std::string> bytes = DecodeBase64(text);
    if (!bytes.ok()) {
      Fault(name, bytes.status().message());
      return "";
    }
    // The most common mistake: a path, or DER, in base64.
    if (bytes->find("-----BEGIN ") == std::string::npos)
      Fault(name, "holds no PEM; it must be the base64 of a PEM text");
    return std::move(bytes).value();
  }
  // A path; relative ones start at the directory of the file that names them.
  std::string Path(std::string_view name) {
    const std::string path = Resolve(Text(name));
    if (path.empty()) return "";
    // Read for the check only; its text is read again when it is used.
    if (const auto text = files_.Read(path); !text.ok()) Fault(name, text.status().message());
    return path;
  }
  std::string Resolve(const std::string& path) const {
    const std::size_t slash = entry_.source->path.rfind('/');
    if (path.empty() || path.front() == '/' || slash == std::string::npos) return path;
    return entry_.source->path.substr(0, slash + 1) + path;
  }
  // For a mapping within the entry, "exec"; its faults name the whole way.
  FieldReader Inside(std::string_view name) const {
    return {
        files_, faults_, {entry_.source, fmt::format("{}.{}", entry_.field, name), &body()[name]}};
  }

 private:
  FileSystem& files_;
  Faults& faults_;
  Entry entry_;
};

// KUBECONFIG's paths, with colons between, as PATH has them.
std::vector<std::string> SplitPaths(std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    // An empty part means nothing, unlike in PATH.
    if (colon > 0) paths.emplace_back(text.substr(0, colon));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return paths;
}

std::vector<std::string> PathsOf(const Environment& environment, const KubeconfigOptions& options) {
  if (!options.path.empty()) return {options.path};
  if (const auto listed = Lookup(environment, "KUBECONFIG")) return SplitPaths(*listed);
  if (const auto home = Lookup(environment, "HOME")) return {*home + "/.kube/config"};
  return {};
}

void ReadSource(FileSystem& files, const std::string& path, std::vector<Source>& sources,
                Faults& faults) {
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) return faults.Add(path, "", text.status().message());
  if (text->size() > kFileBytesMax) {
    return faults.Add(path, "", fmt::format("is longer than {} bytes", kFileBytesMax));
  }
  StatusOr<Json> root = ParseYaml(*text);
  if (!root.ok()) return faults.Add(path, "", root.status().message());
  if (!root->is_object() && !root->is_null()) return faults.Add(path, "", "is not a kubeconfig");
  sources.push_back({path, std::move(root).value()});
}

// Several files of KUBECONFIG need not all exist, as with kubectl; one of them must.
std::vector<Source> ReadSources(FileSystem& files, const std::vector<std::string>& paths,
                                Faults& faults) {
  std::vector<Source> sources;
  for (const std::string& path : paths) {
    // Any other error is reported: a file that may not be read is not a file that is not there.
    const bool missing = files.Read(path).status().code() == Code::kNotFound;
    if (missing && paths.size() > 1) continue;
    ReadSource(files, path, sources, faults);
  }
  // No file was found, and no other fault says so.
  if (sources.empty() && !faults.any()) {
    faults.Add(paths.empty() ? "kubeconfig" : fmt::format("{}", fmt::join(paths, ", ")), "",
               "there is no such file; KUBECONFIG or --kubeconfig names one");
  }
  return sources;
}

// "clusters" with bodies called "cluster". Of equal names the first file's counts.
void ReadSection(const Source& source, std::string_view list, std::string_view body,
                 Section& section, Faults& faults) {
  const Json& items = source.root[list];
  if (!items.is_null() && !items.is_array()) return faults.Add(source.path, list, "must be a list");
  Section own;
  for (std::size_t i = 0; i < items.items().size(); ++i) {
    const Json& item = items[i];
    const std::string place = fmt::format("{}[{}]", list, i);
    const std::string& name = item["name"].AsString();
    if (name.empty()) {
      faults.Add(source.path, place + ".name", "is missing");
    } else if (!item[body].is_object()) {
      faults.Add(source.path, fmt::format("{}.{}", place, body), "is missing");
    } else if (!own.emplace(name, Entry{&source, fmt::format("{}.{}", place, body), &item[body]})
                    .second) {
      faults.Add(source.path, place + ".name", fmt::format("\"{}\" is listed twice", name));
    }
  }
  // std::map keeps what it has: the first file wins, as with kubectl.
  section.merge(own);
}

Merged Merge(const std::vector<Source>& sources, Faults& faults) {
  Merged merged;
  for (const Source& source : sources) {
    ReadSection(source, "clusters", "cluster", merged.clusters, faults);
    ReadSection(source, "users", "user", merged.users, faults);
    ReadSection(source, "contexts", "context", merged.contexts, faults);
    if (merged.current_context.empty()) {
      merged.current_context = source.root["current-context"].AsString();
    }
  }
  return merged;
}

// Reports faults of a URL here, with file and field, instead of at the first call.
void CheckUrl(FieldReader& fields, std::string_view name, const std::string& text, bool proxy) {
  if (text.empty()) return;
  const StatusOr<Url> url = proxy ? ParseProxyUrl(text) : ParseUrl(text);
  if (!url.ok()) return fields.Fault(name, url.status().message());
  // The tunnel is asked for in plain text (net/proxy_tunnel.h).
  if (proxy && url->tls) fields.Fault(name, "only http:// proxies are supported");
  if (!proxy && !url->user_info.empty()) fields.Fault(name, "must hold no user and password");
}

void ReadCluster(FieldReader fields, ClusterConfig& config) {
  config.server = fields.Needed("server");
  CheckUrl(fields, "server", config.server, /*proxy=*/false);
  config.ca_pem = fields.Pem("certificate-authority-data");
  // As kubectl: data goes before a file.
  if (!fields.Has("certificate-authority-data")) {
    config.ca_file = fields.Path("certificate-authority");
  }
  config.skip_verification = fields.Flag("insecure-skip-tls-verify");
  // Go's client refuses the two together as well: it would be unclear which one was meant.
  if (config.skip_verification && (!config.ca_pem.empty() || !config.ca_file.empty())) {
    fields.Fault("insecure-skip-tls-verify",
                 "an authority to verify by is given as well; leave one out");
  }
  config.tls_server_name = fields.Text("tls-server-name");
  config.proxy_url = fields.Text("proxy-url");
  CheckUrl(fields, "proxy-url", config.proxy_url, /*proxy=*/true);
}

// A list of {name, value}, unlike anything else in the file.
void ReadExecEnvironment(FieldReader& fields, ExecPlugin& plugin) {
  const Json::Array& variables = fields.body()["env"].items();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string& name = variables[i]["name"].AsString();
    const bool good = !name.empty() && name.find('=') == std::string::npos;
    if (!good) fields.Fault(fmt::format("env[{}].name", i), "is missing or not a name");
    plugin.environment.push_back(name + "=" + variables[i]["value"].AsString());
  }
}

ExecPlugin ReadExec(FieldReader fields) {
  ExecPlugin plugin;
  plugin.api_version = fields.Needed("apiVersion");
  // v1alpha1 went with Kubernetes 1.24.
  const bool known = plugin.api_version == "client.authentication.k8s.io/v1" ||
                     plugin.api_version == "client.authentication.k8s.io/v1beta1";
  if (!plugin.api_version.empty() && !known) {
    fields.Fault("apiVersion", "must be client.authentication.k8s.io/v1 or …/v1beta1");
  }
  std::string command = fields.Needed("command");
  // As with a shell: a name without a slash is looked for in PATH.
  if (command.find('/') != std::string::npos) command = fields.Resolve(command);
  plugin.command.push_back(std::move(command));
  for (const Json& argument : fields.body()["args"].items()) {
    if (!argument.is_string()) fields.Fault("args", "must be texts; put them in quotes");
    plugin.command.push_back(argument.AsString());
  }
  ReadExecEnvironment(fields, plugin);
  if (fields.Text("interactiveMode") == "Always") {
    fields.Fault("interactiveMode", "a plugin that always asks a person cannot be used");
  }
  plugin.install_hint = fields.Text("installHint");
  plugin.provide_cluster_info = fields.Flag("provideClusterInfo");
  return plugin;
}

void ReadCertificate(FieldReader& fields, Credentials& credentials) {
  credentials.certificate_pem = fields.Pem("client-certificate-data");
  credentials.key_pem = fields.Pem("client-key-data");
  if (!fields.Has("client-certificate-data")) {
    credentials.certificate_file = fields.Path("client-certificate");
  }
  if (!fields.Has("client-key-data")) credentials.key_file = fields.Path("client-key");
  const bool certificate =
      fields.Has("client-certificate-data") || fields.Has("client-certificate");
  const bool key = fields.Has("client-key-data") || fields.Has("client-key");
  if (certificate && !key)
    fields.Fault("client-key", "is missing; the certificate alone proves nothing");
  if (key && !certificate) fields.Fault("client-certificate", "is missing; there is a key for it");
}

void ReadUser(FieldReader fields, Credentials& credentials) {
  credentials.token = fields.Text("token");
  credentials.token_file = fields.Path("tokenFile");
  credentials.username = fields.Text("username");
  credentials.password = fields.Text("password");
  ReadCertificate(fields, credentials);
  if (fields.Has("exec")) credentials.exec = ReadExec(fields.Inside("exec"));
  const bool token = !credentials.token.empty() || !credentials.token_file.empty();
  const bool basic = !credentials.username.empty() || !credentials.password.empty();
  if (token + basic + credentials.exec.has_value() > 1) {
    fields.Fault("token", "of token, username and exec only one can be used");
  }
  if (fields.Has("auth-provider")) {
    fields.Fault("auth-provider", "is not supported, nor by kubectl since 1.26; use exec");
  }
  // Acting as oneself where a person asked to act as another would be a surprise.
  for (const char* name : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (fields.Has(name)) fields.Fault(name, "impersonation is not supported");
  }
}

// The entry that `fields` names in its `kind` field; nullptr, after reporting it, when there is
// none.
const Entry* Referred(FieldReader& fields, const char* kind, const Section& section) {
  const std::string name = fields.Text(kind);
  const auto it = section.find(name);
  if (it != section.end()) return &it->second;
  fields.Fault(kind, fmt::format("there is no {} \"{}\"", kind, name));
  return nullptr;
}

// A person who mistyped a context's name wants to see those that there are.
const Entry* ChosenContext(const Merged& merged, const std::vector<Source>& sources,
                           const std::string& asked, Faults& faults) {
  const std::string& name = asked.empty() ? merged.current_context : asked;
  const auto it = merged.contexts.find(name);
  if (it != merged.contexts.end()) return &it->second;
  std::vector<std::string> names;
  for (const auto& [known, entry] : merged.contexts) names.push_back(known);
  const std::string there = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  const std::string what = name.empty()
                               ? fmt::format("is not set; --context names one of: {}", there)
                               : fmt::format("there is no context \"{}\", only: {}", name, there);
  faults.Add(sources.front().path, asked.empty() ? "current-context" : "--context", what);
  return nullptr;
}

void ReadContext(FieldReader fields, FileSystem& files, const Merged& merged, ClusterConfig& config,
                 Faults& faults) {
  if (const Entry* cluster = Referred(fields, "cluster", merged.clusters)) {
    ReadCluster({files, faults, *cluster}, config);
  }
  // A context without a user is anonymous.
  if (fields.Has("user")) {
    if (const Entry* user = Referred(fields, "user", merged.users)) {
      ReadUser({files, faults, *user}, config.credentials);
    }
  }
  if (std::string ns = fields.Text("namespace"); !ns.empty()) config.ns = std::move(ns);
}

}  // namespace

StatusOr<ClusterConfig> LoadKubeconfig(FileSystem& files, const Environment& environment,
                                       const KubeconfigOptions& options) {
  Faults faults;
  const std::vector<Source> sources = ReadSources(files, PathsOf(environment, options), faults);
  if (sources.empty()) return faults.ToStatus();
  const Merged merged = Merge(sources, faults);
  ClusterConfig config;
  if (const Entry* context = ChosenContext(merged, sources, options.context, faults)) {
    ReadContext({files, faults, *context}, files, merged, config, faults);
  }
  if (faults.any()) return faults.ToStatus();
  // Only when the file names none; the server's URL was checked above.
  if (config.proxy_url.empty()) config.proxy_url = ProxyFor(*ParseUrl(config.server), environment);
  return config;
}

}  // namespace galen::kube
