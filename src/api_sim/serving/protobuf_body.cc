// Tested by body_test.cc.
// Decodes the protobuf messages of body.h with a table of their fields: there are few, and they
// never change their numbers, so generated code would be the larger part.
#include <algorithm>
#include <optional>

#include "api_sim/serving/body.h"
#include "base/data/base64.h"

namespace galen::api_sim {
namespace {

// How a field's bytes become JSON. kTexts may come several times; kBytes are base64 in JSON, as Go
// writes them; the maps are repeated messages of key and value.
enum class WireShape { kText, kTexts, kBytes, kInt, kBool, kMessage, kTextMap, kBytesMap };

// One row: field `number` of `message` is the member `name`. `type` is the message inside, for
// kMessage.
struct Field {
  std::string_view message;
  std::uint64_t number;
  std::string_view name;
  WireShape shape;
  std::string_view type = "";
};

// Field numbers as in Kubernetes' generated.proto files of k8s.io/api and k8s.io/apimachinery.
// TextEntry and BytesEntry are the map entries that protobuf makes: key 1, value 2.
constexpr Field kFields[] = {
    {"Unknown", 1, "type", WireShape::kMessage, "TypeMeta"},
    {"Unknown", 2, "raw", WireShape::kBytes},
    {"TypeMeta", 1, "apiVersion", WireShape::kText},
    {"TypeMeta", 2, "kind", WireShape::kText},
    {"ObjectMeta", 1, "name", WireShape::kText},
    {"ObjectMeta", 2, "generateName", WireShape::kText},
    {"ObjectMeta", 3, "namespace", WireShape::kText},
    {"ObjectMeta", 5, "uid", WireShape::kText},
    {"ObjectMeta", 6, "resourceVersion", WireShape::kText},
    {"ObjectMeta", 11, "labels", WireShape::kTextMap},
    {"ObjectMeta", 12, "annotations", WireShape::kTextMap},
    {"ObjectMeta", 14, "finalizers", WireShape::kTexts},
    {"ConfigMap", 1, "metadata", WireShape::kMessage, "ObjectMeta"},
    {"ConfigMap", 2, "data", WireShape::kTextMap},
    {"ConfigMap", 3, "binaryData", WireShape::kBytesMap},
    {"ConfigMap", 4, "immutable", WireShape::kBool},
    {"Secret", 1, "metadata", WireShape::kMessage, "ObjectMeta"},
    {"Secret", 2, "data", WireShape::kBytesMap},
    {"Secret", 3, "type", WireShape::kText},
    {"Secret", 4, "stringData", WireShape::kTextMap},
    {"Secret", 5, "immutable", WireShape::kBool},
    {"Namespace", 1, "metadata", WireShape::kMessage, "ObjectMeta"},
    {"ServiceAccount", 1, "metadata", WireShape::kMessage, "ObjectMeta"},
    {"ServiceAccount", 4, "automountServiceAccountToken", WireShape::kBool},
    {"DeleteOptions", 1, "gracePeriodSeconds", WireShape::kInt},
    {"DeleteOptions", 2, "preconditions", WireShape::kMessage, "Preconditions"},
    {"DeleteOptions", 4, "propagationPolicy", WireShape::kText},
    {"DeleteOptions", 5, "dryRun", WireShape::kTexts},
    {"Preconditions", 1, "uid", WireShape::kText},
    {"Preconditions", 2, "resourceVersion", WireShape::kText},
    {"Eviction", 1, "metadata", WireShape::kMessage, "ObjectMeta"},
    {"Eviction", 2, "deleteOptions", WireShape::kMessage, "DeleteOptions"},
    {"SelfSubjectReview", 1, "metadata", WireShape::kMessage, "ObjectMeta"},
    {"SelfSubjectAccessReview", 1, "metadata", WireShape::kMessage, "ObjectMeta"},
    {"SelfSubjectAccessReview", 2, "spec", WireShape::kMessage, "SelfSubjectAccessReviewSpec"},
    {"SelfSubjectAccessReviewSpec", 1, "resourceAttributes", WireShape::kMessage,
     "ResourceAttributes"},
    {"ResourceAttributes", 1, "namespace", WireShape::kText},
    {"ResourceAttributes", 2, "verb", WireShape::kText},
    {"ResourceAttributes", 3, "group", WireShape::kText},
    {"ResourceAttributes", 4, "version", WireShape::kText},
    {"ResourceAttributes", 5, "resource", WireShape::kText},
    {"ResourceAttributes", 6, "subresource", WireShape::kText},
    {"ResourceAttributes", 7, "name", WireShape::kText},
    {"SelfSubjectRulesReview", 1, "metadata", WireShape::kMessage, "ObjectMeta"},
    {"SelfSubjectRulesReview", 2, "spec", WireShape::kMessage, "SelfSubjectRulesReviewSpec"},
    {"SelfSubjectRulesReviewSpec", 1, "namespace", WireShape::kText},
    {"TextEntry", 1, "key", WireShape::kText},
    {"TextEntry", 2, "value", WireShape::kText},
    {"BytesEntry", 1, "key", WireShape::kText},
    {"BytesEntry", 2, "value", WireShape::kBytes},
};

bool IsKnown(std::string_view message) {
  return std::any_of(std::begin(kFields), std::end(kFields),
                     [message](const Field& field) { return field.message == message; });
}

const Field* FindField(std::string_view message, std::uint64_t number) {
  const auto* it = std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& field) {
    return field.message == message && field.number == number;
  });
  return it == std::end(kFields) ? nullptr : it;
}

// Seven bits a byte, lowest first; nullopt when the bytes end early or it does not fit 64 bits.
std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

// One field as it is on the wire: `varint` of wire type 0, `bytes` of all others.
struct Raw {
  std::uint64_t number = 0;
  std::uint64_t varint = 0;
  std::string_view bytes;
};

std::optional<Raw> TakeField(std::string_view& bytes) {
  const std::optional<std::uint64_t> tag = TakeVarint(bytes);
  if (!tag) return std::nullopt;
  Raw raw{*tag >> 3, 0, {}};
  // 0 varint, 1 eight bytes, 2 with a length, 5 four bytes. Groups (3, 4) are long out of use.
  const std::uint64_t wire_type = *tag & 7;
  const std::size_t fixed = wire_type == 1 ? 8 : wire_type == 5 ? 4 : 0;
  if (wire_type == 0) {
    const std::optional<std::uint64_t> value = TakeVarint(bytes);
    if (!value) return std::nullopt;
    raw.varint = *value;
    return raw;
  }
  std::optional<std::uint64_t> length = fixed;
  if (wire_type == 2) length = TakeVarint(bytes);
  // A length beyond the end is refused before anything is read by it.
  if (!length || *length > bytes.size() || (wire_type != 2 && fixed == 0)) return std::nullopt;
  raw.bytes = bytes.substr(0, *length);
  bytes.remove_prefix(*length);
  return raw;
}

StatusOr<Json> DecodeMessage(std::string_view message, std::string_view bytes);

Status PutEntry(Json& object, const Field& field, std::string_view type, std::string_view bytes) {
  ASSIGN_OR_RETURN(const Json entry, DecodeMessage(type, bytes));
  object[field.name][entry["key"].AsString()] = entry["value"].AsString();
  return OkStatus();
}

Status PutField(Json& object, const Field& field, const Raw& raw) {
  switch (field.shape) {
    case WireShape::kText:
      // Go writes unset strings as empty ones; in JSON they are left out.
      if (!raw.bytes.empty()) object[field.name] = raw.bytes;
      return OkStatus();
    case WireShape::kTexts:
      object[field.name].Append(raw.bytes);
      return OkStatus();
    case WireShape::kBytes:
      object[field.name] = EncodeBase64(raw.bytes);
      return OkStatus();
    case WireShape::kInt:
      object[field.name] = static_cast<std::int64_t>(raw.varint);
      return OkStatus();
    case WireShape::kBool:
      object[field.name] = raw.varint != 0;
      return OkStatus();
    case WireShape::kMessage: {
      ASSIGN_OR_RETURN(Json inner, DecodeMessage(field.type, raw.bytes));
      object[field.name] = std::move(inner);
      return OkStatus();
    }
    case WireShape::kTextMap:
      return PutEntry(object, field, "TextEntry", raw.bytes);
    case WireShape::kBytesMap:
      return PutEntry(object, field, "BytesEntry", raw.bytes);
  }
  GALEN_UNREACHABLE();
}

// Recursion is as deep as the table's types, three levels, whatever the bytes contain.
StatusOr<Json> DecodeMessage(std::string_view message, std::string_view bytes) {
  Json object = Json::MakeObject({});
  while (!bytes.empty()) {
    const std::optional<Raw> raw = TakeField(bytes);
    if (!raw) return InvalidArgument("broken protobuf message {}", message);
    if (const Field* field = FindField(message, raw->number)) {
      RETURN_IF_ERROR(PutField(object, *field, *raw));
    }
  }
  return object;
}

}  // namespace

StatusOr<Json> DecodeKubernetesProtobuf(std::string_view bytes) {
  constexpr std::string_view kMagic("k8s\0", 4);
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return InvalidArgument("protobuf without Kubernetes' envelope");
  }
  ASSIGN_OR_RETURN(const Json envelope, DecodeMessage("Unknown", bytes.substr(kMagic.size())));
  const std::string& kind = envelope["type"]["kind"].AsString();
  if (!IsKnown(kind)) return Unimplemented("kind {} is not known in protobuf", kind);
  // PutField encoded the bytes as base64; here the raw bytes are needed.
  ASSIGN_OR_RETURN(const std::string raw, DecodeBase64(envelope["raw"].AsString()));
  ASSIGN_OR_RETURN(Json object, DecodeMessage(kind, raw));
  object["apiVersion"] = envelope["type"]["apiVersion"];
  object["kind"] = kind;
  return object;
}

}  // namespace galen::api_sim
