#include "bench/agent_page.h"

#include <gtest/gtest.h>

namespace galen::bench {
namespace {

TEST(ValueOf, FindsAMetricByItsWholeName) {
  const std::string page =
      "# TYPE galen_step gauge\ngalen_step_seconds 2\ngalen_step 0.0125\ngalen_steps{a=\"b\"} 7\n";
  EXPECT_EQ(ValueOf(page, "galen_step").value(), 0.0125);
  EXPECT_EQ(ValueOf(page, "galen_steps").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace galen::bench
