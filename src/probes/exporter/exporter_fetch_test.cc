#include "probes/exporter/exporter_fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/exporter/test_exporter.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ExporterFetchTest : public ::testing::Test {
 protected:
  StatusOr<std::string> Fetch(Duration timeout = 10s) {
    return FetchExporter(*ParseExporterAddress(exporter_.url()), timeout);
  }
  TestExporter exporter_;
};

TEST_F(ExporterFetchTest, GivesThePage) {
  exporter_.Show("up 1\n");
  EXPECT_EQ(*Fetch(), "up 1\n");
}

TEST_F(ExporterFetchTest, APageWithoutALengthEndsWithItsConnection) {
  exporter_.Send("HTTP/1.1 200 OK\r\nServer: x\r\n\r\nup 1\n");
  EXPECT_EQ(*Fetch(), "up 1\n");
}

TEST_F(ExporterFetchTest, AFloodIsNotReadOn) {
  exporter_.Send("HTTP/1.0 200 OK\r\n\r\n" + std::string(1 << 20, 'x'), 100);
  EXPECT_EQ(Fetch().status().code(), Code::kResourceExhausted);
}

TEST_F(ExporterFetchTest, OneThatSaysNothingIsOver) {
  exporter_.Hang();
  EXPECT_EQ(Fetch(200ms).status().code(), Code::kDeadlineExceeded);
}

// There is always a byte to read, and as many as are read at most take seconds.
TEST_F(ExporterFetchTest, OneThatSaysItsPageByteByByteIsOverAllTheSame) {
  exporter_.Trickle();
  EXPECT_EQ(Fetch(200ms).status().code(), Code::kDeadlineExceeded);
}

TEST_F(ExporterFetchTest, APageThatWasCutOffIsNone) {
  exporter_.Send("HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\nup 1\n");
  EXPECT_THAT(Fetch().status().message(), HasSubstr("has 5 bytes of 100"));
}

TEST_F(ExporterFetchTest, AnyOtherAnswerIsAnError) {
  exporter_.Send("HTTP/1.0 503 Service Unavailable\r\n\r\nup 1\n");
  EXPECT_THAT(Fetch().status().message(), HasSubstr("503 Service Unavailable"));
  exporter_.Send("SSH-2.0-x\r\n");
  EXPECT_THAT(Fetch().status().message(), HasSubstr("not HTTP: 'SSH-2.0-x'"));
}

TEST(ExporterFetch, NamesTheHostAsUrlsDo) {
  const auto host = [](std::string_view url) {
    const std::string request = ExporterRequest(*ParseExporterAddress(url));
    const std::size_t from = request.find("\r\nHost: ") + 8;
    return request.substr(from, request.find("\r\n", from) - from);
  };
  EXPECT_EQ(host("http://127.0.0.1:9400/metrics"), "127.0.0.1:9400");
  EXPECT_EQ(host("http://[::1]:9400/metrics"), "[::1]:9400");
  EXPECT_EQ(host("unix:/run/x.sock"), "localhost");
}

TEST(ExporterFetch, NobodyThereIsAnError) {
  EXPECT_FALSE(FetchExporter(*ParseExporterAddress("unix:/no/such.sock"), 1s).ok());
}

}  // namespace
}  // namespace galen::probes
