// Tested by agent/app/inspect_service_test.cc: standard error stays empty whatever peers send.
#include "rpc/typed.h"

#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace galen::rpc {

bool ParseQuietly(std::string_view bytes, google::protobuf::MessageLite& message) {
  const google::protobuf::LogSilencer silencer;
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

std::string SerializeQuietly(const google::protobuf::MessageLite& message) {
  const google::protobuf::LogSilencer silencer;
  return message.SerializeAsString();
}

}  // namespace galen::rpc
