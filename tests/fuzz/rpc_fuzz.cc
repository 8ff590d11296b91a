// gRPC: frames, the texts in its headers, and each message that a peer may send us.
#include <google/protobuf/stubs/logging.h>

#include "api_sim/serving/body.h"
#include "base/check.h"
#include "base/text.h"
#include "protos/dra/v1/dra.pb.h"
#include "protos/dra/v1beta1/dra.pb.h"
#include "protos/dra_health/v1/health.pb.h"
#include "protos/dra_health/v1alpha1/health.pb.h"
#include "protos/galen/checks/v1/checks.pb.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "protos/galen/simulator/v1/simulator.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "protos/podresources/v1/podresources.pb.h"
#include "rpc/frame.h"
#include "rpc/typed.h"
#include "rpc/wire.h"
#include "rpc/wire_fields.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

namespace dra = ::k8s::io::kubelet::pkg::apis::dra;

constexpr std::size_t kMessageBytesMax = 1000;

std::vector<std::string> ReadFrames(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> seen;
  rpc::FrameReader reader(rpc::FrameReader::Side::kServer, kMessageBytesMax);
  for (Input input(bytes); !input.empty();) {
    reader.Add(input.Piece(piece));
    while (true) {
      const auto message = reader.Next();
      if (!message.ok()) {
        seen.emplace_back("refused");
        return seen;
      }
      if (!message->has_value()) break;
      GALEN_CHECK((*message)->size() <= kMessageBytesMax);
      seen.emplace_back(**message);
    }
  }
  seen.emplace_back(reader.between_messages() ? "whole" : "cut off");
  return seen;
}

// A message that was read can be written and is then as long as before. Not compared by bytes: maps
// have no order.
template <typename Message>
void Decode(std::string_view bytes) {
  const StatusOr<Message> message = rpc::Decode<Message>(bytes);
  if (!message.ok()) return;
  const StatusOr<Message> again = rpc::Decode<Message>(message->SerializeAsString());
  GALEN_CHECK(again.ok() && again->ByteSizeLong() == message->ByteSizeLong());
}

// A message and its name in full.
struct Kind {
  void (*decode)(std::string_view bytes);
  std::string (*name)();
};
template <typename Message>
constexpr Kind kKind = {Decode<Message>, [] { return Message().GetTypeName(); }};

// A new one comes last: the first byte of an input says which it is.
constexpr Kind kKinds[] = {
    kKind<pluginregistration::PluginInfo>,
    kKind<pluginregistration::InfoRequest>,
    kKind<pluginregistration::RegistrationStatus>,
    kKind<pluginregistration::RegistrationStatusResponse>,
    kKind<dra::v1::NodePrepareResourcesRequest>,
    kKind<dra::v1::NodePrepareResourcesResponse>,
    kKind<dra::v1::NodeUnprepareResourcesRequest>,
    kKind<dra::v1::NodeUnprepareResourcesResponse>,
    kKind<dra::v1beta1::NodePrepareResourcesRequest>,
    kKind<dra::v1beta1::NodePrepareResourcesResponse>,
    kKind<dra::v1beta1::NodeUnprepareResourcesRequest>,
    kKind<dra::v1beta1::NodeUnprepareResourcesResponse>,
    kKind<::v1::NodeWatchResourcesRequest>,
    kKind<::v1::NodeWatchResourcesResponse>,
    kKind<::v1alpha1::NodeWatchResourcesResponse>,
    kKind<::v1::ListPodResourcesResponse>,
    kKind<inspect::v1::GetStatusResponse>,
    kKind<inspect::v1::ListDevicesResponse>,
    kKind<inspect::v1::ListDriversResponse>,
    kKind<inspect::v1::ExplainRequest>,
    kKind<inspect::v1::ExplainResponse>,
    kKind<simulator::v1::InjectRequest>,
    kKind<simulator::v1::InjectResponse>,
    kKind<simulator::v1::ListSignsResponse>,
    kKind<inspect::v1::ListPostMortemsRequest>,
    kKind<inspect::v1::ListPostMortemsResponse>,
    kKind<inspect::v1::GetStatusRequest>,
    kKind<inspect::v1::ListDevicesRequest>,
    kKind<inspect::v1::ListDriversRequest>,
    kKind<simulator::v1::ListSignsRequest>,
    kKind<::v1alpha1::NodeWatchResourcesRequest>,
    kKind<::v1::ListPodResourcesRequest>,
    kKind<::v1::AllocatableResourcesRequest>,
    kKind<::v1::AllocatableResourcesResponse>,
    kKind<::v1::GetPodResourcesRequest>,
    kKind<::v1::GetPodResourcesResponse>,
    kKind<checks::v1::ListChecksRequest>,
    kKind<checks::v1::ListChecksResponse>,
};

}  // namespace

void FuzzGrpc(std::string_view bytes) {
  Input input(bytes);
  const std::size_t piece = std::size_t{input.Byte()} + 1;
  const std::string_view rest = input.Rest();
  GALEN_CHECK(ReadFrames(rest, piece) == ReadFrames(rest, rest.size() + 1));
  if (const auto timeout = rpc::ParseTimeout(rest)) {
    // Written in the finest unit that fits, so it reads back no shorter.
    const auto again = rpc::ParseTimeout(rpc::FormatTimeout(*timeout));
    GALEN_CHECK(again && *again >= *timeout);
  }
  const std::string encoded = rpc::PercentEncode(rest);
  const auto status = rpc::StatusFromHeaders({{"grpc-status", "13"}, {"grpc-message", encoded}});
  GALEN_CHECK(status && status->code() == Code::kInternal);
  // What is not fit to be shown is changed on the way; all else arrives as it was sent.
  const bool plain = rest.size() <= kMessageBytesMax && Printable(ToValidUtf8(rest)) == rest;
  GALEN_CHECK(ToValidUtf8(status->message()) == status->message());
  if (plain) GALEN_CHECK(status->message() == rest);
  static_cast<void>(rpc::StatusFromHeaders(
      {{"grpc-status", std::string(rest)}, {"grpc-message", std::string(rest)}}));
  static_cast<void>(rpc::IsGrpcContentType(rest));
}

std::set<std::string> FuzzedMessages() {
  std::set<std::string> names;
  for (const Kind& kind : kKinds) names.insert(kind.name());
  return names;
}

void FuzzMessages(std::string_view bytes) {
  // A broken text is an answer here, and one line of a log for each would be all that this does.
  google::protobuf::SetLogHandler(nullptr);
  Input input(bytes);
  const std::size_t which = input.Byte();
  const std::string_view rest = input.Rest();
  if (which < std::size(kKinds)) return kKinds[which].decode(rest);
  rpc::WireFields fields(rest);
  while (fields.Next()) {
  }
  // Kubernetes' own envelope, as kubectl sends it.
  static_cast<void>(api_sim::DecodeKubernetesProtobuf(rest));
  static_cast<void>(api_sim::DecodeKubernetesProtobuf(std::string("k8s\0", 4).append(rest)));
}

}  // namespace galen::fuzz
