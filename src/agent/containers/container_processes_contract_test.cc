// What containers' processes promise whoever runs them: one suite, run on real processes of /bin/sh
// and on those that a test makes up, so that tests above may trust the fake.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "agent/containers/fake_container_processes.h"
#include "agent/containers/posix_container_processes.h"
#include "base/fd.h"
#include "base/files/fake_file_system.h"
#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/fake_loop.h"
#include "base/loop/test_turns.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

// Shells that do what they read from a pipe, line by line.
struct ShellMachine {
  ContainerCommand Command(const std::string& id) {
    const std::string home = directory.Path(id);
    std::filesystem::create_directories(home);
    const std::string pipe = home + "/orders";
    EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    // For reading too, so that neither end waits for the other.
    orders[id] = Fd(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
    return {.id = id,
            .command = {"sh", "-c", "while read -r order; do eval \"$order\"; done < orders"},
            .environment = {"PATH=/usr/bin:/bin", "GALEN_CONTAINER_DIRECTORY=" + home},
            .working_directory = home};
  }
  void Order(const std::string& id, const std::string& order) {
    const std::string line = order + "\n";
    EXPECT_EQ(::write(orders[id].get(), line.data(), line.size()),
              static_cast<ssize_t>(line.size()));
  }
  void Say(const std::string& id, const std::string& text) {
    Order(id, "printf %s " + text + "; : > said");
  }
  bool HasSaid(const std::string& id) const {
    return std::filesystem::exists(directory.Path(id) + "/said");
  }
  void Exit(const std::string& id, int code) { Order(id, "exit " + std::to_string(code)); }
  // Waits a moment for what processes do.
  void Turn() {
    const Timer end = loop->After(1ms, [this] { loop->Stop(); });
    loop->Run();
  }
  void Settle() { RunTurns(*loop); }

  TemporaryDirectory directory;
  const std::string root = directory.path();
  std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  std::map<std::string, Fd> orders;
  PosixFileSystem files;
  PosixContainerProcesses processes{*loop,
                                    NullLog(),
                                    ProcessKeeper::Start().value(),
                                    root,
                                    {.cgroup_root = "/nonexistent", .own_groups = ""}};
};

struct MadeUpMachine {
  ContainerCommand Command(const std::string& id) { return {.id = id, .command = {"sh"}}; }
  void Say(const std::string& id, const std::string& text) { processes.Say(id, text); }
  void Exit(const std::string& id, int code) { processes.End(id, {.code = code}); }
  bool HasSaid(const std::string&) const { return true; }
  void Turn() { loop.Advance(1ms); }
  void Settle() { loop.Advance(1s); }

  FakeLoop loop;
  FakeFileSystem files;
  const std::string root = "/state";
  FakeContainerProcesses processes{loop, files};
};

template <typename Machine>
class ContainerProcessesContract : public ::testing::Test {
 protected:
  // One container and what was reported of it, in order: its output, then "end" and its exit code.
  struct Reported {
    std::unique_ptr<ContainerProcess> process;
    std::string text;
    bool ended = false;
  };

  void Start(const std::string& id, Reported& reported) {
    auto process = processes().Start(
        machine_.Command(id), [&reported](std::string_view bytes) { reported.text += bytes; },
        [&reported](const ProcessEnd& end) {
          reported.text += " end " + std::to_string(end.code);
          reported.ended = true;
          reported.process.reset();
        });
    ASSERT_TRUE(process.ok()) << ToString(process.status());
    reported.process = std::move(process).value();
  }
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 10'000 && !done(); ++i) machine_.Turn();
    EXPECT_TRUE(done());
  }
  // Waits for a container that is started and ends now: what was reported of earlier ones is here.
  void Settle() {
    Reported later;
    Start("later", later);
    machine_.Exit("later", 0);
    RunUntil([&] { return later.ended; });
    machine_.Settle();
  }
  void Write(const std::string& path, const std::string& bytes) {
    ASSERT_EQ(machine_.files.MakeDirectories(path.substr(0, path.rfind('/')), 0700), OkStatus());
    ASSERT_EQ(machine_.files.WriteAtomically(path, bytes, 0600), OkStatus());
  }
  ContainerProcesses& processes() { return machine_.processes; }

  Machine machine_;
  Reported reported_;
};

using ContainerMachines = ::testing::Types<ShellMachine, MadeUpMachine>;
TYPED_TEST_SUITE(ContainerProcessesContract, ContainerMachines);

TYPED_TEST(ContainerProcessesContract, OutputComesBeforeTheEndWhichComesOnceAndMayDestroyIt) {
  this->Start("a", this->reported_);
  EXPECT_EQ(this->reported_.text, "") << "nothing is reported before Start returns";
  this->machine_.Say("a", "one");
  this->machine_.Exit("a", 3);
  this->RunUntil([&] { return this->reported_.ended; });
  this->Settle();
  EXPECT_EQ(this->reported_.text, "one end 3");
}

TYPED_TEST(ContainerProcessesContract, OfOneThatIsDestroyedNoEndIsTold) {
  this->Start("a", this->reported_);
  this->machine_.Say("a", "one");
  this->RunUntil([&] { return this->reported_.text == "one"; });
  this->machine_.Exit("a", 0);
  this->reported_.process.reset();
  this->Settle();
  EXPECT_EQ(this->reported_.text, "one");
}

TYPED_TEST(ContainerProcessesContract, EachIsToldOfItsOwn) {
  typename TestFixture::Reported other;
  this->Start("a", this->reported_);
  this->Start("b", other);
  this->machine_.Say("b", "two");
  this->machine_.Exit("b", 2);
  this->RunUntil([&] { return other.ended; });
  EXPECT_EQ(this->reported_.text, "");
  this->machine_.Exit("a", 1);
  this->RunUntil([&] { return this->reported_.ended; });
  EXPECT_EQ(this->reported_.text, " end 1");
  EXPECT_EQ(other.text, "two end 2");
}

TYPED_TEST(ContainerProcessesContract, OutputThatIsHeldComesLater) {
  this->Start("a", this->reported_);
  this->reported_.process->HoldOutput(true);
  this->machine_.Say("a", "kept");
  this->RunUntil([&] { return this->machine_.HasSaid("a"); });
  this->machine_.Settle();
  EXPECT_EQ(this->reported_.text, "");
  this->reported_.process->HoldOutput(false);
  this->RunUntil([&] { return !this->reported_.text.empty(); });
  EXPECT_EQ(this->reported_.text, "kept");
}

TYPED_TEST(ContainerProcessesContract, AtItsEndHeldOutputIsHandedOnAllTheSame) {
  this->Start("a", this->reported_);
  this->reported_.process->HoldOutput(true);
  this->machine_.Say("a", "kept");
  this->machine_.Exit("a", 0);
  this->RunUntil([&] { return this->reported_.ended; });
  EXPECT_EQ(this->reported_.text, "kept end 0");
}

TYPED_TEST(ContainerProcessesContract, ReadsTheStartOfAFileAndNotFoundWhereThereIsNone) {
  const std::string file = this->machine_.root + "/log";
  this->Write(file, "0123456789");
  EXPECT_EQ(*this->processes().ReadStart(file, 4), "0123");
  EXPECT_EQ(*this->processes().ReadStart(file, 4096), "0123456789");
  EXPECT_EQ(this->processes().ReadStart(file + "-none", 4).status().code(), Code::kNotFound);
  EXPECT_FALSE(this->processes().ReadStart(this->machine_.root, 4).ok());
}

TYPED_TEST(ContainerProcessesContract, RemovesEachFileBelowADirectoryAndNothingBeside) {
  const std::string pod = this->machine_.root + "/pod";
  this->Write(pod + "/main/deep/file", "x");
  this->Write(pod + "/file", "x");
  this->Write(pod + "-2/file", "x");
  this->processes().RemoveTree(pod);
  this->processes().RemoveTree(this->machine_.root + "/never-there");
  for (const char* gone : {"/main/deep/file", "/file"}) {
    EXPECT_EQ(this->processes().ReadStart(pod + gone, 1).status().code(), Code::kNotFound) << gone;
  }
  EXPECT_TRUE(this->processes().ReadStart(pod + "-2/file", 1).ok());
}

}  // namespace
}  // namespace galen::agent
