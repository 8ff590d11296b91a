#include "cluster_sim/app/sim_credentials.h"

#include <openssl/rand.h>

#include <array>
#include <set>
#include <vector>

#include "base/data/base64.h"
#include "base/data/yaml.h"

namespace galen::cluster_sim {
namespace {

// 192 bits, impossible to guess. A token has twice as many characters.
constexpr std::size_t kTokenBytes = 24;
constexpr unsigned kSecretMode = 0600;
// A file that is no token file would otherwise fill the screen.
constexpr std::size_t kFaultsShownMax = 10;

// A stored authority is renewed this long before its end: a program that starts just before runs
// for months more, and copied kubeconfigs stay valid as long.
constexpr Duration kRenewBefore = CertificateAuthority::kValidity / 2;

constexpr const char* kCertificateFile = "/ca.crt";
constexpr const char* kKeyFile = "/ca.key";
constexpr const char* kTokenFile = "/admin.token";

// One line of a CSV file: fields between commas, quoted ones may hold commas.
std::vector<std::string> SplitFields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string Joined(const std::vector<std::string>& faults) {
  std::string text;
  for (std::size_t i = 0; i < faults.size() && i < kFaultsShownMax; ++i) {
    text += (i == 0 ? "" : "; ") + faults[i];
  }
  if (faults.size() > kFaultsShownMax) {
    text += fmt::format("; {} more faults", faults.size() - kFaultsShownMax);
  }
  return text;
}

StatusOr<SimCredentials> Load(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(std::string certificate, files.Read(directory + kCertificateFile));
  ASSIGN_OR_RETURN(std::string key, files.Read(directory + kKeyFile));
  ASSIGN_OR_RETURN(std::string token, files.Read(directory + kTokenFile));
  SimCredentials credentials{.authority = nullptr, .admin_token = std::move(token)};
  ASSIGN_OR_RETURN(credentials.authority,
                   CertificateAuthority::Load({std::move(certificate), std::move(key)}));
  if (credentials.admin_token.size() < kTokenBytes) {
    return InvalidArgument("{} is too short to be a token", kTokenFile + 1);
  }
  return credentials;
}

// Replaces a certificate that ends soon. The key stays, so clients with the old certificate trust
// what is signed now.
Status RenewInTime(FileSystem& files, const std::string& directory, SimCredentials& credentials,
                   WallTime now) {
  if (credentials.authority->expires() - now > kRenewBefore) return OkStatus();
  ASSIGN_OR_RETURN(credentials.authority, credentials.authority->Renewed(now));
  return files.WriteAtomically(directory + kCertificateFile,
                               credentials.authority->pair().certificate_pem, 0644);
}

}  // namespace

StatusOr<std::string> MakeToken() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return Internal("the system gives no random numbers for a token");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

StatusOr<SimCredentials> LoadOrMakeCredentials(FileSystem& files, const std::string& directory,
                                               WallTime now) {
  if (!directory.empty()) {
    StatusOr<SimCredentials> kept = Load(files, directory);
    // A missing part means that the creation was interrupted, so no client has these credentials
    // yet.
    if (kept.status().code() != Code::kNotFound) {
      const Status status = kept.ok() ? RenewInTime(files, directory, *kept, now) : kept.status();
      if (status.ok()) return kept;
      return Annotate(status, "credentials kept in {}", directory);
    }
  }
  SimCredentials made;
  ASSIGN_OR_RETURN(made.authority, CertificateAuthority::Create("galen-sim", now));
  ASSIGN_OR_RETURN(made.admin_token, MakeToken());
  if (directory.empty()) return made;
  RETURN_IF_ERROR(files.MakeDirectories(directory, 0700));
  const CertificatePair& pair = made.authority->pair();
  RETURN_IF_ERROR(files.WriteAtomically(directory + kCertificateFile, pair.certificate_pem, 0644));
  RETURN_IF_ERROR(files.WriteAtomically(directory + kKeyFile, pair.key_pem, kSecretMode));
  // Last, so that a set of files with a token is complete.
  RETURN_IF_ERROR(files.WriteAtomically(directory + kTokenFile, made.admin_token, kSecretMode));
  return made;
}

StatusOr<std::map<std::string, api_sim::User>> ParseTokenFile(std::string_view text) {
  std::map<std::string, api_sim::User> users;
  std::vector<std::string> faults;
  std::size_t number = 0;
  for (const std::string_view line : SplitLines(text)) {
    ++number;
    const std::vector<std::string> fields = SplitFields(line);
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (fields.size() < 3 || fields.size() > 4 || fields[0].empty() || fields[1].empty()) {
      faults.push_back(fmt::format("line {}: want token,user,uid[,\"group1,group2\"]", number));
      continue;
    }
    api_sim::User user = api_sim::Administrator(fields[1]);
    user.groups = fields.size() == 4 ? SplitFields(fields[3]) : std::vector<std::string>{};
    user.groups.push_back("system:authenticated");
    if (!users.emplace(fields[0], std::move(user)).second) {
      faults.push_back(
          fmt::format("line {}: its token is used by an earlier line already", number));
    }
  }
  if (!faults.empty()) return InvalidArgument("{}", Joined(faults));
  return users;
}

std::string Kubeconfig(const std::string& url, const std::string& ca_pem,
                       const std::string& token) {
  const Json cluster =
      Json::MakeObject({{"server", url}, {"certificate-authority-data", EncodeBase64(ca_pem)}});
  const Json context = Json::MakeObject({{"cluster", "galen-sim"}, {"user", "galen-sim-admin"}});
  return WriteYaml(Json::MakeObject(
      {{"apiVersion", "v1"},
       {"kind", "Config"},
       {"current-context", "galen-sim"},
       {"clusters",
        Json::MakeArray({Json::MakeObject({{"name", "galen-sim"}, {"cluster", cluster}})})},
       {"contexts",
        Json::MakeArray({Json::MakeObject({{"name", "galen-sim"}, {"context", context}})})},
       {"users",
        Json::MakeArray({Json::MakeObject(
            {{"name", "galen-sim-admin"}, {"user", Json::MakeObject({{"token", token}})}})})}}));
}

}  // namespace galen::cluster_sim
