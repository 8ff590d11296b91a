// What the scripted CUDA driver (tests/e2e/cuda/scripted_cuda.cc) answers in this process.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/files/test_temporary_directory.h"

namespace galen::active {

class TestCudaAnswers {
 public:
  TestCudaAnswers() { ::setenv("GALEN_CUDA_ANSWERS", directory_.Path("answers").c_str(), 1); }
  ~TestCudaAnswers() { ::unsetenv("GALEN_CUDA_ANSWERS"); }
  TestCudaAnswers(const TestCudaAnswers&) = delete;

  void Write(const std::string& lines) { std::ofstream(directory_.Path("answers")) << lines; }

 private:
  const TemporaryDirectory directory_;
};

}  // namespace galen::active
