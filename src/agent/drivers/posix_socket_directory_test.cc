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

#include "agent/drivers/fake_socket_directory.h"
#include "base/fd.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using EntryKind = DirectoryEntry::Kind;

Fd ListenAt(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// What all SocketDirectories promise: one suite, run on the disk and on the fake.

struct DiskRegistry {
  std::string Path(const std::string& name) const { return root.Path(name); }
  void PutSocket(const std::string& name) { sockets[name] = ListenAt(Path(name)); }
  void PutFile(const std::string& name) { std::ofstream(Path(name)) << "x"; }
  void Remove(const std::string& name) { EXPECT_EQ(::unlink(Path(name).c_str()), 0); }
  void Link(const std::string& from, const std::string& to) {
    EXPECT_EQ(::mkdir(Path(to).c_str(), 0755), 0);
    EXPECT_EQ(::symlink(to.c_str(), Path(from).c_str()), 0);
  }
  void Miss(const std::string&) {}
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 5'000 && !done(); ++i) {
      const Timer turn = loop->After(1ms, [this] { loop->Stop(); });
      loop->Run();
    }
    ASSERT_TRUE(done());
  }

  // Without links itself, as RealPath gives it.
  TemporaryDirectory root;
  std::map<std::string, Fd> sockets{};
  const std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  PosixSocketDirectory directory{*loop, root.path()};
};

struct FakeRegistry {
  std::string Path(const std::string& name) const { return "/registry/" + name; }
  void PutSocket(const std::string& name) { directory.Put(Path(name)); }
  void PutFile(const std::string& name) { directory.Put(Path(name), EntryKind::kOther); }
  void Remove(const std::string& name) { directory.Remove(Path(name)); }
  void Link(const std::string& from, const std::string& to) {
    directory.Link(Path(from), Path(to));
  }
  void Miss(const std::string& name) { directory.Miss(Path(name)); }
  void RunUntil(const std::function<bool()>& done) { ASSERT_TRUE(done()); }

  FakeSocketDirectory directory;
};

template <typename Registry>
class SocketDirectoryContract : public ::testing::Test {
 protected:
  // "a.sock socket", in the order of the scan.
  std::vector<std::string> Seen() {
    std::vector<std::string> seen;
    const auto entries = directory().Scan();
    EXPECT_TRUE(entries.ok());
    for (const DirectoryEntry& entry : *entries) {
      seen.push_back(entry.path.substr(registry_.Path("").size()) +
                     (entry.kind == EntryKind::kSocket ? " socket" : " other"));
    }
    return seen;
  }
  SocketDirectory& directory() { return registry_.directory; }

  Registry registry_;
};

using Registries = ::testing::Types<DiskRegistry, FakeRegistry>;
TYPED_TEST_SUITE(SocketDirectoryContract, Registries);

TYPED_TEST(SocketDirectoryContract, ScansWhatIsThereInOrderOfPath) {
  EXPECT_THAT(this->Seen(), IsEmpty());
  this->registry_.PutSocket("b.sock");
  this->registry_.PutSocket("a.sock");
  this->registry_.PutFile("a.txt");
  EXPECT_THAT(this->Seen(), ElementsAre("a.sock socket", "a.txt other", "b.sock socket"));
  this->registry_.Remove("a.sock");
  EXPECT_THAT(this->Seen(), ElementsAre("a.txt other", "b.sock socket"));
}

TYPED_TEST(SocketDirectoryContract, ASocketMadeAgainHasAnotherStampAndOneThatStaysHasNot) {
  this->registry_.PutSocket("a.sock");
  const std::vector<DirectoryEntry> before = *this->directory().Scan();
  EXPECT_EQ(*this->directory().Scan(), before);
  this->registry_.Remove("a.sock");
  this->registry_.PutSocket("a.sock");
  EXPECT_NE(this->directory().Scan()->at(0).stamp, before.at(0).stamp);
}

TYPED_TEST(SocketDirectoryContract, HintsAtWhatComesAndGoes) {
  int hints = 0;
  ASSERT_TRUE(this->directory().Watch([&] { ++hints; }).ok());
  this->registry_.PutSocket("a.sock");
  this->registry_.RunUntil([&] { return hints > 0; });
  hints = 0;
  this->registry_.Remove("a.sock");
  this->registry_.RunUntil([&] { return hints > 0; });
}

TYPED_TEST(SocketDirectoryContract, FindsWhereAPathTrulyLies) {
  this->registry_.Link("alias", "real");
  this->registry_.PutSocket("aliased.sock");
  const std::string real = *this->directory().RealPath(this->registry_.Path("real"));
  EXPECT_EQ(*this->directory().RealPath(this->registry_.Path("alias")), real);
  EXPECT_EQ(*this->directory().RealPath(this->registry_.Path("./real/../alias")), real);
  EXPECT_TRUE(
      this->directory().RealPath(this->registry_.Path("aliased.sock"))->ends_with("/aliased.sock"))
      << "a name that begins like a link is none";
  this->registry_.Miss("none");
  EXPECT_EQ(this->directory().RealPath(this->registry_.Path("none")).status().code(),
            Code::kNotFound);
}

// What only the disk's does.

class PosixSocketDirectoryTest : public ::testing::Test {
 protected:
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
  const Fd top = ListenAt(root_.Path("a.sock"));
  ASSERT_EQ(::mkdir(root_.Path("sub").c_str(), 0755), 0);
  const Fd below = ListenAt(root_.Path("sub/b.sock"));
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
  const Fd socket = ListenAt(path);
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
  Fd first = ListenAt(path);
  const std::uint64_t stamp = Scan().at(path).stamp;
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  EXPECT_EQ(Scan().at(path).stamp, stamp) << "its mode is set after it is made";
  ASSERT_EQ(::unlink(path.c_str()), 0);
  const Fd second = ListenAt(path);
  EXPECT_NE(Scan().at(path).stamp, stamp);
}

TEST_F(PosixSocketDirectoryTest, ADirectoryThatDoesNotExistIsNotFound) {
  PosixSocketDirectory missing(*loop_, root_.Path("nowhere"));
  EXPECT_EQ(missing.Scan().status().code(), Code::kNotFound);
}

TEST_F(PosixSocketDirectoryTest, ADirectoryThatCannotBeReadIsNotAnEmptyOne) {
  const Fd top = ListenAt(root_.Path("a.sock"));
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
  taken.pop_back();  // room for one descriptor: the top can be listed, directories below it cannot
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
