#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/config.h"

namespace galen::agent {
namespace {

using ::testing::HasSubstr;

std::string Faults(const AgentConfig& config) {
  ConfigFaults faults;
  CheckAddresses(config, faults);
  return std::string(faults.ToStatus().message());
}

TEST(ConfigAddresses, MetricsOthersReachNeedCertificateAndToken) {
  AgentConfig config;
  for (const char* open : {"0.0.0.0:9470", "[::]:9470", "10.0.0.1:9470", "tcp:0.0.0.0:9470"}) {
    config = {};
    config.metrics_address = open;
    EXPECT_THAT(Faults(config), HasSubstr("which other machines can reach")) << open;
    config.metrics_certificate = config.metrics_key = "/etc/galen/tls";
    EXPECT_THAT(Faults(config), HasSubstr("which other machines can reach"))
        << "encrypted, and for everybody";
    config.metrics_token_file = "/etc/galen/token";
    EXPECT_EQ(Faults(config), "");
    config.metrics_certificate = config.metrics_key = "";
    EXPECT_THAT(Faults(config), HasSubstr("which other machines can reach"))
        << "a token that anybody reads";
  }
  for (const char* own : {"127.0.0.1:9470", "127.1.2.3:1", "[::1]:9470", ":9470", ""}) {
    config = {};
    config.metrics_address = own;
    EXPECT_EQ(Faults(config), "") << own;
  }
}

TEST(ConfigAddresses, ProbesMayBeAskedByEverybody) {
  AgentConfig config;
  config.probes_address = "0.0.0.0:9471";
  EXPECT_EQ(Faults(config), "");
  config.probes_address = "localhost:9471";
  EXPECT_THAT(Faults(config), HasSubstr("probesAddress is \"localhost:9471\""));
}

TEST(ConfigAddresses, ACertificateGoesWithItsKeyAndFilesHaveWholePaths) {
  AgentConfig config;
  config.metrics_certificate = "/etc/galen/tls.crt";
  EXPECT_THAT(Faults(config), HasSubstr("metricsCertificate is given alone"));
  config.metrics_key = "tls.key";
  EXPECT_THAT(Faults(config), HasSubstr("metricsKey is \"tls.key\", must be an absolute path"));
}

}  // namespace
}  // namespace galen::agent
