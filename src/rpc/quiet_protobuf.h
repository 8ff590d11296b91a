// libprotobuf without its messages on standard error: it logs each text that is not UTF-8, as often
// as a stranger sends one.
#pragma once

#include <string>
#include <string_view>

namespace google::protobuf {
class MessageLite;
}

namespace galen::rpc {

// Whether `bytes` are such a message, which then is theirs.
bool ParseQuietly(std::string_view bytes, google::protobuf::MessageLite& message);

// The bytes of it; a text that is no UTF-8 is for the reader to refuse.
std::string SerializeQuietly(const google::protobuf::MessageLite& message);

}  // namespace galen::rpc
