#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "conformance/probes.h"

namespace galen::conformance {
namespace {

TEST(CdiDirectories, DirectoriesAreReadWholeAndMayBeMissing) {
  FakeFileSystem files;
  ASSERT_TRUE(files.MakeDirectories("/etc/cdi", 0755).ok());
  ASSERT_TRUE(files.WriteAtomically("/etc/cdi/a.json", "{}", 0600).ok());
  ASSERT_TRUE(files.WriteAtomically("/etc/cdi/b.yaml", "a: 1\n", 0600).ok());
  ASSERT_TRUE(files.WriteAtomically("/etc/cdi/c.txt", "", 0600).ok());
  const auto specs = ReadCdiDirectories(files, {"/etc/cdi", "/var/run/cdi"});
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].path, "/etc/cdi/a.json");
  EXPECT_EQ(specs[1].path, "/etc/cdi/b.yaml");
}

}  // namespace
}  // namespace galen::conformance
