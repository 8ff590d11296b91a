#include "base/data/xml.h"

#include "base/text.h"

namespace galen {

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : Printable(ToValidUtf8(text))) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace galen
