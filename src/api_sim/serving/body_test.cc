#include "api_sim/serving/body.h"

#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

Outcome<Json> Read(std::string type, std::string body) {
  ApiRequest request;
  request.content_type = std::move(type);
  request.body = std::move(body);
  return ReadBody(request);
}

// A protobuf field of bytes.
std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string Envelope(const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + Field(1, Field(1, "v1") + Field(2, kind)) + Field(2, raw);
}

TEST(Body, IsReadFromJsonAndYaml) {
  EXPECT_EQ(Read("application/json", R"({"a": 1})").value(), ToJson(R"({"a": 1})"));
  EXPECT_EQ(Read("", R"({"a": 1})").value(), ToJson(R"({"a": 1})"));
  EXPECT_EQ(Read("application/apply-patch+yaml", "a: 1\nb: [x]\n").value(),
            ToJson(R"({"a": 1, "b": ["x"]})"));
}

TEST(Body, OfAnUnknownFormatIs415AndABrokenOne400) {
  EXPECT_EQ(Read("image/png", "x").status().code, 415);
  EXPECT_EQ(Read("application/json", "{").status().code, 400);
}

TEST(Body, IsReadFromKubernetesProtobuf) {
  const std::string meta = Field(1, "cm") + Field(11, Field(1, "app") + Field(2, "x"));
  const std::string map = Field(1, meta) + Field(2, Field(1, "k") + Field(2, "v"));
  const auto body = Read(std::string(kProtobufType), Envelope("ConfigMap", map));
  ASSERT_TRUE(body.ok()) << body.status().message;
  EXPECT_EQ(*body, ToJson(R"({"apiVersion": "v1", "kind": "ConfigMap",
      "metadata": {"name": "cm", "labels": {"app": "x"}}, "data": {"k": "v"}})"));
}

TEST(Body, KeepsASecretsBytes) {
  const std::string secret = Field(2, Field(1, "k") + Field(2, std::string("\0\xff", 2)));
  const auto body = Read(std::string(kProtobufType), Envelope("Secret", secret));
  ASSERT_TRUE(body.ok());
  EXPECT_EQ((*body)["data"]["k"].AsString(), "AP8=");
}

TEST(Body, BrokenProtobufIsABadRequest) {
  EXPECT_EQ(Read(std::string(kProtobufType), "plain").status().code, 400);
  EXPECT_EQ(Read(std::string(kProtobufType), Envelope("ConfigMap", "\x0a\x7f")).status().code, 400);
}

// As a Go driver publishes its slices by default; a 400 says that the object is wrong.
TEST(Body, AKindThatIsNotKnownInProtobufIsAnUnsupportedMediaType) {
  const Refusal refusal = Read(std::string(kProtobufType), Envelope("ResourceSlice", "")).status();
  EXPECT_EQ(refusal.code, 415);
  EXPECT_EQ(refusal.reason, "UnsupportedMediaType");
  EXPECT_EQ(refusal.message,
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml (kind ResourceSlice is not known in protobuf here; "
            "a Go client sends JSON with ContentType: \"application/json\" in its rest.Config)");
}

}  // namespace
}  // namespace galen::api_sim
