#include "sdk/socket_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/address.h"

namespace galen::sdk {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kInstanceUid = "0f8fad5b-d9cb-469f-a165-70867728950e";

TEST(SocketPaths, AreTheKubeletsConventionWithoutAnInstance) {
  const auto paths = MakeSocketPaths("/var/lib/kubelet", "fpga.example.com", "");
  ASSERT_TRUE(paths.ok());
  EXPECT_EQ(paths->registration, "/var/lib/kubelet/plugins_registry/fpga.example.com-reg.sock");
  EXPECT_EQ(paths->data, "/var/lib/kubelet/plugins/fpga.example.com/dra.sock");
}

TEST(SocketPaths, OfTwoInstancesDiffer) {
  const auto one = MakeSocketPaths("/k", "fpga.example.com", "one");
  const auto two = MakeSocketPaths("/k", "fpga.example.com", "two");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->registration, "/k/plugins_registry/fpga.example.com-one-reg.sock");
  EXPECT_EQ(one->data, "/k/plugins/fpga.example.com/dra-one.sock");
  EXPECT_NE(one->registration, two->registration);
  EXPECT_NE(one->data, two->data);
  EXPECT_EQ(one->plugin_directory, two->plugin_directory);
}

TEST(SocketPaths, ThatAreTooLongHashTheInstance) {
  const std::string driver = "accelerators.infrastructure.example.com";  // 39 bytes
  const auto paths = MakeSocketPaths("/var/lib/kubelet", driver, kInstanceUid);
  ASSERT_TRUE(paths.ok()) << ToString(paths.status());
  EXPECT_LE(paths->registration.size(), net::kSocketPathMax);
  EXPECT_THAT(paths->registration, StartsWith("/var/lib/kubelet/plugins_registry/" + driver + "-"));
  EXPECT_THAT(paths->registration, EndsWith("-reg.sock"));
  EXPECT_THAT(paths->registration, Not(HasSubstr(std::string(kInstanceUid))));
}

TEST(SocketPaths, ThatAreStillTooLongHashTheDriverToo) {
  const std::string driver = std::string(51, 'a') + ".example.com";  // 63 bytes, the longest
  const auto paths = MakeSocketPaths("/var/kubelet", driver, kInstanceUid);
  ASSERT_TRUE(paths.ok()) << ToString(paths.status());
  EXPECT_THAT(paths->registration, StartsWith("/var/kubelet/plugins_registry/dra-"));
  EXPECT_LE(paths->data.size(), net::kSocketPathMax);
}

TEST(SocketPaths, ThatCannotFitAreRefusedWithTheirLength) {
  const auto paths = MakeSocketPaths("/" + std::string(90, 'k'), "fpga.example.com", "");
  EXPECT_EQ(paths.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(paths.status().message(), HasSubstr("at most 107 fit"));
}

TEST(SocketPaths, APlaceThatIsTakenIsAnsweredByHowTwoOfADriverRun) {
  const Status taken = AlreadyExists("another process listens on /x.sock");
  EXPECT_EQ(WithAdvice(taken, "").message(),
            "another process listens on /x.sock; if that is the same driver: --instance lets two "
            "of it run at once");
  EXPECT_EQ(WithAdvice(taken, "pod-1"), taken);
  EXPECT_EQ(WithAdvice(OkStatus(), ""), OkStatus());
  EXPECT_EQ(WithAdvice(Unavailable("away"), ""), Unavailable("away"));
}

TEST(SocketPaths, OfADevicePluginAreInTheKubeletsDirectoryForSuch) {
  EXPECT_EQ(*MakePluginSocketPath("/var/lib/kubelet", "fpga.example.com"),
            "/var/lib/kubelet/device-plugins/fpga.example.com.sock");
  EXPECT_EQ(KubeletSocket("/var/lib/kubelet"), "/var/lib/kubelet/device-plugins/kubelet.sock");
  const std::string root = "/" + std::string(50, 'r');
  const auto shortened = MakePluginSocketPath(root, std::string(60, 'd'));
  ASSERT_TRUE(shortened.ok()) << ToString(shortened.status());
  EXPECT_LE(shortened->size(), net::kSocketPathMax);
  EXPECT_THAT(*shortened, StartsWith(PluginDirectory(root) + "/"));
  EXPECT_THAT(*shortened, EndsWith(".sock"));
  EXPECT_EQ(MakePluginSocketPath("/" + std::string(90, 'r'), "d").status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::sdk
