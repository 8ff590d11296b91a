// Tested by body_test.cc.
// Decodes the protobuf messages of body.h with a table of their fields: there are few, and they
// never change their numbers, so generated code would be the larger part.
#include <algorithm>
#include <optional>

#include "api_sim/serving/body.h"
#include "base/data/base64.h"

namespace galen::cluster_sim {
namespace {

// How a field's bytes become JSON. kTexts may come several times; kBytes are base64 in JSON, as Go
// writes them; the maps are repeated messages of key and value.
enum class Shape { kText, kTexts, kBytes, kInt, kBool, kMessage, kTextMap, kBytesMap };

// One row: field `number` of `message` is the member `name`. `type` is the message inside, for
// kMessage.
struct Field {
  std::string_view message;
  std::uint64_t number;
  std::string_view name;
  Shape shape;
  std::string_view type = "";
};

// Field numbers as in Kubernetes' generated.proto files of k8s.io/api and k8s.io/apimachinery.
// TextEntry and BytesEntry are the map entries that protobuf makes: key 1, value 2.
constexpr Field kFields[] = {
    {"Unknown", 1, "type", Shape::kMessage, "TypeMeta"},
    {"Unknown", 2, "raw", Shape::kBytes},
    {"TypeMeta", 1, "apiVersion", Shape::kText},
    {"TypeMeta", 2, "kind", Shape::kText},
    {"ObjectMeta", 1, "name", Shape::kText},
    {"ObjectMeta", 2, "generateName", Shape::kText},
    {"ObjectMeta", 3, "namespace", Shape::kText},
    {"ObjectMeta", 5, "uid", Shape::kText},
    {"ObjectMeta", 6, "resourceVersion", Shape::kText},
    {"ObjectMeta", 11, "labels", Shape::kTextMap},
    {"ObjectMeta", 12, "annotations", Shape::kTextMap},
    {"ObjectMeta", 14, "finalizers", Shape::kTexts},
    {"ConfigMap", 1, "metadata", Shape::kMessage, "ObjectMeta"},
    {"ConfigMap", 2, "data", Shape::kTextMap},
    {"ConfigMap", 3, "binaryData", Shape::kBytesMap},
    {"ConfigMap", 4, "immutable", Shape::kBool},
    {"Secret", 1, "metadata", Shape::kMessage, "ObjectMeta"},
    {"Secret", 2, "data", Shape::kBytesMap},
    {"Secret", 3, "type", Shape::kText},
    {"Secret", 4, "stringData", Shape::kTextMap},
    {"Secret", 5, "immutable", Shape::kBool},
    {"Namespace", 1, "metadata", Shape::kMessage, "ObjectMeta"},
    {"ServiceAccount", 1, "metadata", Shape::kMessage, "ObjectMeta"},
    {"ServiceAccount", 4, "automountServiceAccountToken", Shape::kBool},
    {"DeleteOptions", 1, "gracePeriodSeconds", Shape::kInt},
    {"DeleteOptions", 2, "preconditions", Shape::kMessage, "Preconditions"},
    {"DeleteOptions", 4, "propagationPolicy", Shape::kText},
    {"DeleteOptions", 5, "dryRun", Shape::kTexts},
    {"Preconditions", 1, "uid", Shape::kText},
    {"Preconditions", 2, "resourceVersion", Shape::kText},
    {"Eviction", 1, "metadata", Shape::kMessage, "ObjectMeta"},
    {"Eviction", 2, "deleteOptions", Shape::kMessage, "DeleteOptions"},
    {"SelfSubjectReview", 1, "metadata", Shape::kMessage, "ObjectMeta"},
    {"SelfSubjectAccessReview", 1, "metadata", Shape::kMessage, "ObjectMeta"},
    {"SelfSubjectAccessReview", 2, "spec", Shape::kMessage, "SelfSubjectAccessReviewSpec"},
    {"SelfSubjectAccessReviewSpec", 1, "resourceAttributes", Shape::kMessage, "ResourceAttributes"},
    {"ResourceAttributes", 1, "namespace", Shape::kText},
    {"ResourceAttributes", 2, "verb", Shape::kText},
    {"ResourceAttributes", 3, "group", Shape::kText},
    {"ResourceAttributes", 4, "version", Shape::kText},
    {"ResourceAttributes", 5, "resource", Shape::kText},
    {"ResourceAttributes", 6, "subresource", Shape::kText},
    {"ResourceAttributes", 7, "name", Shape::kText},
    {"SelfSubjectRulesReview", 1, "metadata", Shape::kMessage, "ObjectMeta"},
    {"SelfSubjectRulesReview", 2, "spec", Shape::kMessage, "SelfSubjectRulesReviewSpec"},
    {"SelfSubjectRulesReviewSpec", 1, "namespace", Shape::kText},
    {"TextEntry", 1, "key", Shape::kText},
    {"TextEntry", 2, "value", Shape::kText},
    {"BytesEntry", 1, "key", Shape::kText},
    {"BytesEntry", 2, "value", Shape::kBytes},
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
    case Shape::kText:
      // Go writes strings that are not set as empty ones; in JSON they are left out.
      if (!raw.bytes.empty()) object[field.name] = raw.bytes;
      return OkStatus();
    case Shape::kTexts:
      object[field.name].Append(raw.bytes);
      return OkStatus();
    case Shape::kBytes:
      object[field.name] = EncodeBase64(raw.bytes);
      return OkStatus();
    case Shape::kInt:
      object[field.name] = static_cast<std::int64_t>(raw.varint);
      return OkStatus();
    case Shape::kBool:
      object[field.name] = raw.varint != 0;
      return OkStatus();
    case Shape::kMessage: {
      ASSIGN_OR_RETURN(Json inner, DecodeMessage(field.type, raw.bytes));
      object[field.name] = std::move(inner);
      return OkStatus();
    }
    case Shape::kTextMap:
      return PutEntry(object, field, "TextEntry", raw.bytes);
    case Shape::kBytesMap:
      return PutEntry(object, field, "BytesEntry", raw.bytes);
  }
  GALEN_UNREACHABLE();
}

// Recursion is as deep as the table's types are, three levels, however the bytes are nested.
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
  if (!IsKnown(kind)) {
    return Unimplemented("kind {} is not known in protobuf", kind);
  }
  // PutField made base64 of the bytes, as for any other; here they are wanted as they are.
  ASSIGN_OR_RETURN(const std::string raw, DecodeBase64(envelope["raw"].AsString()));
  ASSIGN_OR_RETURN(Json object, DecodeMessage(kind, raw));
  object["apiVersion"] = envelope["type"]["apiVersion"];
  object["kind"] = kind;
  return object;
}

}  // namespace galen::cluster_sim
