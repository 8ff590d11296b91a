#include "probes/kernel_log/state_file.h"

#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::probes {
namespace {

constexpr char kPath[] = "/state/gpu.json";

Json Number(int number) { return Json::MakeObject({{"n", number}}); }

class StateFileTest : public ::testing::Test {
 protected:
  StateFileTest() { EXPECT_TRUE(files_.MakeDirectories("/state", 0755).ok()); }
  StateFile Loaded(std::string boot_id) {
    StateFile state(files_, NullLog(), kPath, std::move(boot_id));
    state.Load();
    return state;
  }
  FakeFileSystem files_;
};

TEST_F(StateFileTest, GivesBackWithinABootWhatWasFlushed) {
  StateFile state = Loaded("boot-1");
  state.Set("a", Number(1));
  state.Set("b", Number(2));
  ASSERT_TRUE(state.Flush().ok());
  files_.Crash();
  EXPECT_EQ(Loaded("boot-1").Get("a"), Number(1));
  EXPECT_EQ(Loaded("boot-1").Get("b"), Number(2));
}

TEST_F(StateFileTest, AnotherBootStartsFresh) {
  StateFile state = Loaded("boot-1");
  state.Set("a", Number(1));
  ASSERT_TRUE(state.Flush().ok());
  EXPECT_TRUE(Loaded("boot-2").Get("a").is_null());
}

TEST_F(StateFileTest, WritesNothingWhileNothingChanges) {
  StateFile state = Loaded("boot-1");
  state.Set("a", Number(1));
  ASSERT_TRUE(state.Flush().ok());
  const auto writes = files_.writes();
  state.Set("a", Number(1));
  ASSERT_TRUE(state.Flush().ok());
  EXPECT_EQ(files_.writes(), writes);
}

TEST_F(StateFileTest, ABrokenFileIsPutAsideAndNotBelieved) {
  for (const std::string text : {"{\"bootId\":", "[]", "{}", "{\"bootId\":1,\"sections\":{}}"}) {
    ASSERT_TRUE(files_.WriteAtomically(kPath, text, 0600).ok());
    EXPECT_TRUE(Loaded("boot-1").Get("a").is_null()) << text;
    EXPECT_EQ(*files_.Read(std::string(kPath) + ".broken"), text);
    EXPECT_EQ(files_.Read(kPath).status().code(), Code::kNotFound);
  }
}

TEST_F(StateFileTest, AFullDiskLosesNothingOnceThereIsRoom) {
  StateFile state = Loaded("boot-1");
  state.Set("a", Number(1));
  files_.FailWrites(ResourceExhausted("disk full"));
  EXPECT_FALSE(state.Flush().ok());
  files_.FailWrites(std::nullopt);
  EXPECT_TRUE(state.Flush().ok());
  EXPECT_EQ(Loaded("boot-1").Get("a"), Number(1));
}

}  // namespace
}  // namespace galen::probes
