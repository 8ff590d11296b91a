#include "active/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "active/test_cuda_answers.h"

namespace galen::active {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CudaDriverTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<CudaDriver>> Open(const std::string& path = GALEN_SCRIPTED_CUDA) {
    return CudaDriver::Open(path, watch_);
  }
  TestCudaAnswers answers_;
  CheckWatch watch_{{.now = [] { return Time{}; }}};
};

TEST_F(CudaDriverTest, KnowsGpusAsNvmlAndSysfsNameThem) {
  answers_.Write(
      "gpus 2\n1 name NVIDIA H100\n1 uuid 7d4b0f9e00112233445566778899aabb\n1 bus 193\n");
  const auto driver = Open();
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  const auto gpus = (*driver)->Gpus();
  ASSERT_TRUE(gpus.ok()) << gpus.status().message();
  ASSERT_EQ(gpus->size(), 2u);
  EXPECT_EQ((*gpus)[1], (CudaGpu{.ordinal = 1,
                                 .model = "NVIDIA H100",
                                 .uuid = "GPU-7d4b0f9e-0011-2233-4455-66778899aabb",
                                 .pci_address = "0000:c1:00.0"}));
}

TEST_F(CudaDriverTest, SaysThatThereIsNoLibraryAndWhatALibraryLacks) {
  const Status none = Open("/nowhere/libcuda.so.1").status();
  EXPECT_EQ(none.code(), Code::kNotFound);
  EXPECT_THAT(none.message(), HasSubstr("is NVIDIA's driver installed"));
  const Status other = Open("libc.so.6").status();
  EXPECT_EQ(other.code(), Code::kNotFound);
  EXPECT_THAT(other.message(), HasSubstr("it lacks cuInit cuDeviceGetCount"));
}

TEST_F(CudaDriverTest, ErrorsNameTheCallAndKeepMemoryAndBrokenMemoryApart) {
  answers_.Write("fails cuInit 100\n");
  EXPECT_EQ(Open().status(), Unavailable("cuInit: CUDA_ERROR_NO_DEVICE"));
  answers_.Write("gpus 2\n");
  const auto driver = Open();
  ASSERT_TRUE(driver.ok());
  const auto fails = [&](int result) {
    answers_.Write(fmt::format("fails cuCtxSynchronize {}\n", result));
    return (*driver)->Call((*driver)->synchronize);
  };
  EXPECT_EQ(fails(2), ResourceExhausted("cuCtxSynchronize: CUDA_ERROR_OUT_OF_MEMORY, out of "
                                        "memory"));
  EXPECT_EQ(fails(214), DataLoss("cuCtxSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE"));
  EXPECT_EQ(fails(12345), Unavailable("cuCtxSynchronize: CUDA error 12345"));
}

}  // namespace
}  // namespace galen::active
