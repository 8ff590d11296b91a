#include "net/socket/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/files/test_temporary_directory.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

unsigned ModeOf(const std::string& path) {
  struct stat found{};
  EXPECT_EQ(lstat(path.c_str(), &found), 0);
  return found.st_mode & 0777U;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

TEST(Socket, UnixPathThatIsTooLongNamesBothLengths) {
  const Status status = ListenUnix("/" + std::string(107, 'x'), 0600).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("108 bytes, at most 107 fit"));
}

TEST(Socket, LongestUnixPathFits) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path(std::string(107 - directory.path().size() - 1, 'x'));
  ASSERT_EQ(path.size(), 107U);
  const StatusOr<UnixListener> listener = ListenUnix(path, 0600);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  EXPECT_TRUE(StartConnect(*UnixSocketAddress(path)).ok());
}

TEST(Socket, ListenerHasTheModeThatWasAsked) {
  const TemporaryDirectory directory;
  const auto narrow = ListenUnix(directory.Path("narrow"), 0600);
  const auto wide = ListenUnix(directory.Path("wide"), 0666);
  EXPECT_EQ(ModeOf(directory.Path("narrow")), 0600U);
  EXPECT_EQ(ModeOf(directory.Path("wide")), 0666U);
}

TEST(Socket, DeadSocketFileIsReplaced) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("s");
  ASSERT_TRUE(ListenUnix(path, 0600).ok());  // its listener dies here, the file stays
  ASSERT_TRUE(Exists(path));
  EXPECT_TRUE(ListenUnix(path, 0600).ok());
}

TEST(Socket, LivingSocketFileIsLeftAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("s");
  const auto first = ListenUnix(path, 0600);
  const Status second = ListenUnix(path, 0600).status();
  EXPECT_EQ(second.code(), Code::kAlreadyExists);
  EXPECT_THAT(second.message(), HasSubstr("another process listens"));
  EXPECT_TRUE(StartConnect(*UnixSocketAddress(path)).ok());
}

TEST(Socket, PlainFileInTheWayIsNotRemoved) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("s");
  std::ofstream(path) << "precious";
  const Status status = ListenUnix(path, 0600).status();
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_THAT(status.message(), HasSubstr("is not a socket"));
  EXPECT_TRUE(Exists(path));
}

TEST(Socket, MissingDirectoryIsNamed) {
  const TemporaryDirectory directory;
  const Status status = ListenUnix(directory.Path("missing/s"), 0600).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("missing/s"));
}

TEST(Socket, FileIsRemovedOnlyWhileItIsOurs) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("s");
  const UnixListener old = *ListenUnix(path, 0600);
  ASSERT_EQ(unlink(path.c_str()), 0);
  const UnixListener replacement = *ListenUnix(path, 0600);
  RemoveSocketFile(path, old);
  EXPECT_TRUE(Exists(path));
  RemoveSocketFile(path, replacement);
  EXPECT_FALSE(Exists(path));
  RemoveSocketFile(path, replacement);  // gone already: no matter
}

TEST(Socket, DialWithoutAListenerCanBeTriedAgain) {
  const TemporaryDirectory directory;
  const Status status = StartConnect(*UnixSocketAddress(directory.Path("s"))).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), StartsWith("connect to unix:" + directory.Path("s")));
}

TEST(Socket, BoundPortIsKnown) {
  const StatusOr<Fd> listener = ListenTcp(*NumericSocketAddress("127.0.0.1", 0));
  ASSERT_TRUE(listener.ok());
  const std::string bound = ToString(*BoundAddress(listener->get()));
  EXPECT_THAT(bound, StartsWith("tcp:127.0.0.1:"));
  EXPECT_NE(bound, "tcp:127.0.0.1:0");
}

TEST(Socket, TakenPortIsNamed) {
  const StatusOr<Fd> first = ListenTcp(*NumericSocketAddress("127.0.0.1", 0));
  const StatusOr<Fd> second = ListenTcp(*BoundAddress(first->get()));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr(ToString(*BoundAddress(first->get()))));
}

TEST(Socket, OnlyNumbersAreNumeric) {
  EXPECT_EQ(ToString(*NumericSocketAddress("::1", 443)), "tcp:[::1]:443");
  EXPECT_EQ(ToString(*NumericSocketAddress("10.0.0.1", 1)), "tcp:10.0.0.1:1");
  EXPECT_FALSE(NumericSocketAddress("localhost", 1).has_value());
}

TEST(Socket, PeerOfAUnixSocketIsKnown) {
  const TemporaryDirectory directory;
  const UnixListener listener = *ListenUnix(directory.Path("s"), 0600);
  EXPECT_FALSE(AcceptNext(listener.fd.get())->has_value());  // nobody yet
  const StatusOr<Fd> client = StartConnect(*UnixSocketAddress(directory.Path("s")));
  const StatusOr<std::optional<Fd>> accepted = AcceptNext(listener.fd.get());
  ASSERT_TRUE(accepted.ok() && accepted->has_value());
  const auto peer = ReadPeerCredentials((*accepted)->get());
  ASSERT_TRUE(peer.has_value());
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, getuid());
}

TEST(Socket, OnlyOurOwnLimitsPauseAccepting) {
  EXPECT_TRUE(IsOutOfResources(EMFILE));
  EXPECT_FALSE(IsOutOfResources(ECONNABORTED));
}

}  // namespace
}  // namespace galen::net
