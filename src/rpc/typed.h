// Protobuf messages over Channel and Dispatcher: the same promises, with messages instead of bytes.
// Templates, so that no generated header is included here; any lite message type fits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rpc/channel.h"
#include "rpc/service.h"

namespace google::protobuf {
class MessageLite;
}

namespace galen::rpc {

// Both keep libprotobuf from writing to standard error, which it does for each text that is not
// UTF-8, as often as a peer sends one. Whether `bytes` are such a message; `message` then has them.
bool ParseQuietly(std::string_view bytes, google::protobuf::MessageLite& message);
// The message's bytes; a text that is not UTF-8 is for the reader to refuse.
std::string SerializeQuietly(const google::protobuf::MessageLite& message);

// `bytes` as a Message, or InvalidArgument. Unknown fields are kept or dropped by protobuf: a newer
// peer is no error. Nothing is logged.
template <typename Message>
StatusOr<Message> Decode(std::string_view bytes) {
  Message message;
  if (!ParseQuietly(bytes, message)) {
    return InvalidArgument("{} bytes are not a {}, or a text in it is not UTF-8", bytes.size(),
                           message.GetTypeName());
  }
  return message;
}

// Channel::Unary. An answer that is not a Response ends with InvalidArgument.
template <typename Response, typename Request>
[[nodiscard]] std::unique_ptr<Call> Unary(Channel& channel, std::string_view method,
                                          const Request& request, Duration deadline,
                                          std::function<void(StatusOr<Response>)> done) {
  return channel.Unary(method, SerializeQuietly(request), deadline,
                       [done = std::move(done)](StatusOr<std::string> bytes) {
                         if (!bytes.ok()) return done(bytes.status());
                         done(Decode<Response>(*bytes));
                       });
}

// A Reply with a message; call it once.
template <typename Response>
class TypedReply {
 public:
  TypedReply() = default;
  explicit TypedReply(Reply reply) : reply_(std::move(reply)) {}

  explicit operator bool() const { return static_cast<bool>(reply_); }
  void operator()(const StatusOr<Response>& response) const {
    if (!response.ok()) return reply_(response.status());
    reply_(SerializeQuietly(*response));
  }

 private:
  Reply reply_;
};

// Dispatcher::AddUnary. A request that is not a Request is answered with INVALID_ARGUMENT here.
// Messages are borrowed for the call.
template <typename Request, typename Response>
void AddUnary(Dispatcher& dispatcher, std::string path,
              std::function<void(const Request&, const Caller&, TypedReply<Response>)> method) {
  dispatcher.AddUnary(
      std::move(path),
      [method = std::move(method)](std::string_view bytes, const Caller& caller, Reply reply) {
        StatusOr<Request> request = Decode<Request>(bytes);
        if (!request.ok()) return reply(request.status());
        method(*request, caller, TypedReply<Response>(std::move(reply)));
      });
}

// Dispatcher::AddStream, likewise.
template <typename Request>
void AddStream(
    Dispatcher& dispatcher, std::string path,
    std::function<void(const Request&, const Caller&, std::unique_ptr<StreamWriter>)> method) {
  dispatcher.AddStream(std::move(path),
                       [method = std::move(method)](std::string_view bytes, const Caller& caller,
                                                    std::unique_ptr<StreamWriter> writer) {
                         StatusOr<Request> request = Decode<Request>(bytes);
                         if (!request.ok()) return writer->Finish(request.status());
                         method(*request, caller, std::move(writer));
                       });
}

}  // namespace galen::rpc
