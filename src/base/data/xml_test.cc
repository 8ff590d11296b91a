#include "base/data/xml.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(EscapeXml, WritesMarkupAsText) {
  EXPECT_EQ(EscapeXml(R"(a < b && c > "d")"), "a &lt; b &amp;&amp; c &gt; &quot;d&quot;");
}

TEST(EscapeXml, LeavesNothingThatXmlCannotHold) {
  const std::string text = EscapeXml(std::string("\x1b[31m\0\xff", 7));
  for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << text;
}

}  // namespace
}  // namespace galen
