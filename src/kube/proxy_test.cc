#include "kube/proxy.h"

#include <gtest/gtest.h>

namespace galen::kube {
namespace {

std::string Proxy(std::string_view server, const Environment& environment) {
  return ProxyFor(*ParseUrl(server), environment);
}

bool Exempt(std::string_view server, std::string_view exceptions) {
  return IsExempt(*ParseUrl(server), exceptions);
}

TEST(ProxyFor, IsForServersWithTlsOnly) {
  const Environment environment = {{"HTTPS_PROXY", "http://secure:1"}, {"http_proxy", "plain:2"}};
  EXPECT_EQ(Proxy("https://api.example.com", environment), "http://secure:1");
  EXPECT_EQ(Proxy("https://api.example.com", {{"https_proxy", "secure:1"}}), "http://secure:1");
  EXPECT_EQ(Proxy("http://api.example.com", environment), "") << "no tunnel carries plain text";
  EXPECT_EQ(Proxy("https://api.example.com", {}), "");
}

TEST(ProxyFor, NeverStandsBeforeThisMachine) {
  const Environment environment = {{"HTTPS_PROXY", "http://p:1"}};
  for (const char* server : {"https://127.0.0.1:6443", "https://127.8.8.8", "https://localhost",
                             "https://Localhost", "https://[::1]:6443"}) {
    EXPECT_EQ(Proxy(server, environment), "") << server;
  }
  EXPECT_EQ(Proxy("https://128.0.0.1", environment), "http://p:1");
}

TEST(ProxyFor, LeavesOutWhatNoProxyNames) {
  const Environment environment = {{"https_proxy", "http://p:1"},
                                   {"NO_PROXY", "a.com, 10.0.0.0/8"}};
  EXPECT_EQ(Proxy("https://x.a.com", environment), "");
  EXPECT_EQ(Proxy("https://10.1.2.3:6443", environment), "");
  EXPECT_EQ(Proxy("https://11.1.2.3:6443", environment), "http://p:1");
}

TEST(IsExempt, ByNameAndDomain) {
  EXPECT_TRUE(Exempt("https://a.com", "b.com,a.com"));
  EXPECT_TRUE(Exempt("https://x.a.com", "a.com"));
  EXPECT_FALSE(Exempt("https://xa.com", "a.com"));
  EXPECT_TRUE(Exempt("https://x.a.com", ".a.com"));
  EXPECT_FALSE(Exempt("https://a.com", ".a.com"));
  EXPECT_TRUE(Exempt("https://x.a.com", "*.a.com"));
  EXPECT_TRUE(Exempt("https://anything", "*"));
  EXPECT_FALSE(Exempt("https://a.com", ""));
  EXPECT_FALSE(Exempt("https://a.com", ",, ,"));
}

TEST(IsExempt, WhateverTheCase) {
  EXPECT_TRUE(Exempt("https://api.example.com", ".Example.COM"));
  EXPECT_TRUE(Exempt("https://AZ.example.com", "az.example.com"));
}

TEST(IsExempt, ByPort) {
  EXPECT_TRUE(Exempt("https://a.com:6443", "a.com:6443"));
  EXPECT_FALSE(Exempt("https://a.com:6443", "a.com:443"));
  EXPECT_TRUE(Exempt("https://[fd00::1]:6443", "[fd00::1]:6443"));
}

TEST(IsExempt, ByAddressAndNetwork) {
  EXPECT_TRUE(Exempt("https://10.0.0.1", "10.0.0.1"));
  EXPECT_FALSE(Exempt("https://10.0.0.11", "10.0.0.1"));
  EXPECT_TRUE(Exempt("https://10.255.0.1", "10.0.0.0/8"));
  EXPECT_TRUE(Exempt("https://10.0.0.129", "10.0.0.128/25"));
  EXPECT_FALSE(Exempt("https://10.0.0.127", "10.0.0.128/25"));
  EXPECT_TRUE(Exempt("https://[fd00::1]", "fd00::/8"));
  EXPECT_FALSE(Exempt("https://10.0.0.1", "::/0")) << "another kind of address";
  EXPECT_FALSE(Exempt("https://10.0.0.1", "10.0.0.0/99"));
}

}  // namespace
}  // namespace galen::kube
