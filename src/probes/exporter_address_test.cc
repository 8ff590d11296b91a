#include "probes/exporter_address.h"

#include <gtest/gtest.h>

namespace galen::probes {
namespace {

TEST(ExporterAddress, ReadsWhereAnExporterListens) {
  EXPECT_EQ(*ParseExporterAddress("http://127.0.0.1:9400/metrics"),
            (ExporterAddress{.host = "127.0.0.1", .port = 9400, .path = "/metrics"}));
  EXPECT_EQ(*ParseExporterAddress("http://[::1]:5000"),
            (ExporterAddress{.host = "::1", .port = 5000, .path = "/"}));
  EXPECT_EQ(ParseExporterAddress("http://localhost/m")->host, "127.0.0.1");
  EXPECT_EQ(*ParseExporterAddress("unix:/run/x.sock"),
            (ExporterAddress{.socket_path = "/run/x.sock", .path = "/metrics"}));
  EXPECT_TRUE(ParseExporterAddress("http://127.0.0.1:1/")->is_local());
  EXPECT_FALSE(ParseExporterAddress("http://10.0.0.1:1/")->is_local());
}

TEST(ExporterAddress, RefusesNamesOtherSchemesAndWhatWouldSplitARequest) {
  for (const char* url :
       {"https://127.0.0.1/", "127.0.0.1:9400", "http://exporter:9400/", "http://127.0.0.1:0/",
        "http://127.0.0.1:x/", "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: y", "unix:x"}) {
    EXPECT_FALSE(ParseExporterAddress(url).ok()) << url;
  }
}

}  // namespace
}  // namespace galen::probes
