#include "agent/drivers/posix_socket_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>

#include "base/fd.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using EntryKind = DirectoryEntry::Kind;

class PosixSocketDirectoryTest : public ::testing::Test {
 protected:
  Fd Listen(const std::string& path) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  std::map<std::string, DirectoryEntry> Scan() {
    std::map<std::string, DirectoryEntry> entries;
    const auto scanned = directory_.Scan();
    for (const DirectoryEntry& entry : *scanned) entries[entry.path] = entry;
    return entries;
  }

  TemporaryDirectory root_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  PosixSocketDirectory directory_{*loop_, root_.path()};
};

TEST_F(PosixSocketDirectoryTest, DistinguishesSocketsFromEverythingElseBelowIt) {
  const Fd top = Listen(root_.Path("a.sock"));
  ASSERT_EQ(::mkdir(root_.Path("sub").c_str(), 0755), 0);
  const Fd below = Listen(root_.Path("sub/b.sock"));
  std::ofstream(root_.Path("plain")) << "x";
  ASSERT_EQ(::symlink(root_.Path("a.sock").c_str(), root_.Path("link").c_str()), 0);
  ASSERT_EQ(::symlink("/tmp", root_.Path("out").c_str()), 0);
  const auto entries = Scan();
  EXPECT_EQ(entries.at(root_.Path("a.sock")).kind, EntryKind::kSocket);
  EXPECT_EQ(entries.at(root_.Path("sub/b.sock")).kind, EntryKind::kSocket);
  EXPECT_EQ(entries.at(root_.Path("plain")).kind, EntryKind::kOther);
  EXPECT_EQ(entries.at(root_.Path("link")).kind, EntryKind::kSymlink);
  EXPECT_EQ(entries.at(root_.Path("out")).kind, EntryKind::kSymlink);
  EXPECT_EQ(entries.size(), 6u) << "what lies behind a link is not looked at";
}

TEST_F(PosixSocketDirectoryTest, ASocketOfAnotherUserIsForeignWhereOnlyOneIsTrusted) {
  const std::string path = root_.Path("a.sock");
  const Fd socket = Listen(path);
  // Root's is everybody's, so root gives it away.
  const unsigned owner = ::geteuid() == 0 ? 1001U : ::geteuid();
  ASSERT_EQ(::chown(path.c_str(), owner, ::getegid()), 0);
  PosixSocketDirectory trusting(*loop_, root_.path(), owner);
  EXPECT_EQ(trusting.Scan()->front().kind, EntryKind::kSocket);
  PosixSocketDirectory wary(*loop_, root_.path(), owner + 1);
  EXPECT_EQ(wary.Scan()->front().kind, EntryKind::kForeign);
  EXPECT_EQ(Scan().at(path).kind, EntryKind::kSocket) << "the kubelet's directory is its own";
}

TEST_F(PosixSocketDirectoryTest, ASocketMadeAgainHasAnotherStampAndOneThatIsTouchedHasNot) {
  const std::string path = root_.Path("a.sock");
  Fd first = Listen(path);
  const std::uint64_t stamp = Scan().at(path).stamp;
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  EXPECT_EQ(Scan().at(path).stamp, stamp) << "its mode is set after it is made";
  ASSERT_EQ(::unlink(path.c_str()), 0);
  const Fd second = Listen(path);
  EXPECT_NE(Scan().at(path).stamp, stamp);
}

TEST_F(PosixSocketDirectoryTest, ReportsASocketThatComes) {
  int changes = 0;
  ASSERT_TRUE(directory_
                  .Watch([&] {
                    ++changes;
                    loop_->Stop();
                  })
                  .ok());
  const Fd fd = Listen(root_.Path("a.sock"));
  const Timer guard = loop_->After(5s, [&] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(changes, 1);
}

TEST_F(PosixSocketDirectoryTest, FindsWhereAPathTrulyLies) {
  ASSERT_EQ(::mkdir(root_.Path("real").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("real", root_.Path("alias").c_str()), 0);
  EXPECT_EQ(directory_.RealPath(root_.Path("alias")).value(),
            directory_.RealPath(root_.Path("real")).value());
  EXPECT_FALSE(directory_.RealPath(root_.Path("none")).ok());
}

TEST_F(PosixSocketDirectoryTest, ADirectoryThatDoesNotExistIsNotFound) {
  PosixSocketDirectory missing(*loop_, root_.Path("nowhere"));
  EXPECT_EQ(missing.Scan().status().code(), Code::kNotFound);
}

TEST_F(PosixSocketDirectoryTest, ADirectoryThatCannotBeReadIsNotAnEmptyOne) {
  const Fd top = Listen(root_.Path("a.sock"));
  ASSERT_EQ(::mkdir(root_.Path("sub").c_str(), 0755), 0);
  // As when the process has no descriptor left.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<Fd> taken;
  for (int i = 0; i < 16; ++i) taken.emplace_back(::dup(top.get()));
  const rlimit none{.rlim_cur = static_cast<rlim_t>(taken.back().get()) + 1,
                    .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto without_any = directory_.Scan();
  taken.pop_back();  // room for one: the top can be read, what is below it cannot
  const auto with_one = directory_.Scan();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(without_any.ok());
  ASSERT_TRUE(with_one.ok());
  std::map<std::string, EntryKind> last;
  for (const DirectoryEntry& entry : *with_one) last[entry.path] = entry.kind;
  EXPECT_EQ(last[root_.Path("a.sock")], EntryKind::kSocket);
  EXPECT_EQ(last[root_.Path("sub")], EntryKind::kUnreadable);
}

}  // namespace
}  // namespace galen::agent
