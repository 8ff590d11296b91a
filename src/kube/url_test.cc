#include "kube/url.h"

#include <gtest/gtest.h>

namespace galen::kube {
namespace {

TEST(Url, ReadsServersAsKubeconfigsNameThem) {
  EXPECT_EQ(*ParseUrl("https://127.0.0.1:6443"),
            (Url{.tls = true, .host = "127.0.0.1", .port = 6443}));
  EXPECT_EQ(*ParseUrl("https://api.example.com"),
            (Url{.tls = true, .host = "api.example.com", .port = 443}));
  EXPECT_EQ(*ParseUrl("http://localhost/"), (Url{.tls = false, .host = "localhost", .port = 80}));
  EXPECT_EQ(*ParseUrl("https://rancher:8443/k8s/clusters/c-1/"),
            (Url{.tls = true, .host = "rancher", .port = 8443, .prefix = "/k8s/clusters/c-1"}));
}

// RFC 3986, section 3.2: user and password end before the first "/".
TEST(Url, APathMayHoldAnAt) {
  EXPECT_EQ(
      *ParseUrl("https://gateway/clusters/me@example.com"),
      (Url{.tls = true, .host = "gateway", .port = 443, .prefix = "/clusters/me@example.com"}));
  EXPECT_EQ(ParseUrl("https://u:p@gateway/a@b")->user_info, "u:p");
}

// Its URL has no use for a path, and most often such an "@" ends a password.
TEST(Url, AProxyMayNot) {
  EXPECT_TRUE(ParseProxyUrl("http://user:p%2Fx@proxy:3128/").ok());
  const Status refused = ParseProxyUrl("http://u:1/s3cret@p").status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("%2F"), std::string::npos);
  EXPECT_EQ(refused.message().find("s3cret"), std::string::npos);
}

TEST(Url, ReadsIpv6InBrackets) {
  EXPECT_EQ(*ParseUrl("https://[::1]:6443"), (Url{.tls = true, .host = "::1", .port = 6443}));
  EXPECT_EQ(ParseUrl("https://[fd00::1]")->port, 443);
}

TEST(Url, ReadsAProxyWithUserAndPassword) {
  const StatusOr<Url> url = ParseUrl("http://us%40er:p%3Aw@proxy:3128");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "proxy");
  EXPECT_EQ(url->user_info, "us%40er:p%3Aw");
}

TEST(Url, RefusesWhatCannotBeDialled) {
  for (const char* text :
       {"", "127.0.0.1:6443", "ftp://x", "https://", "https://:6443", "https://a:b", "https://a:0",
        "https://a:70000", "https://a:", "https://[::1", "https://[::1]x", "https://a b",
        "https://a?x=y", "https://a/#f", "https://a\nb"}) {
    EXPECT_FALSE(ParseUrl(text).ok()) << text;
  }
}

TEST(Url, RefusalsQuoteNothingOfAPassword) {
  for (const std::string url :
       {"http://user:s3cret@proxy:99999", "http://user:s3cret/x@proxy:3128", "http://u:s3 cret/@p",
        "http://user:s3cret@", "ftp://user:s3cret@proxy", "http://user:a?s3cret@proxy"}) {
    const StatusOr<Url> parsed = ParseUrl(url);
    ASSERT_FALSE(parsed.ok()) << url;
    EXPECT_EQ(parsed.status().message().find("cret"), std::string::npos) << url;
    EXPECT_EQ(WithoutUser(url).find("cret"), std::string::npos) << url;
  }
  EXPECT_EQ(WithoutUser("http://user:s3cret@proxy:99999"), "http://...@proxy:99999");
  EXPECT_EQ(WithoutUser("http//proxy"), "http//proxy");
}

TEST(Url, IsWrittenForPeopleAndForDialling) {
  const Url url = *ParseUrl("https://u:secret@[::1]:6443/p/");
  EXPECT_EQ(ToString(url), "https://[::1]:6443/p");
  EXPECT_EQ(DialTarget(url), "tcp:[::1]:6443");
  EXPECT_EQ(Authority(url), "[::1]:6443");
  EXPECT_EQ(Authority(*ParseUrl("https://a:443")), "a");
  EXPECT_EQ(Authority(*ParseUrl("http://a:443")), "a:443");
}

}  // namespace
}  // namespace galen::kube
