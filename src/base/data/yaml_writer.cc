#include <yaml.h>

#include <cmath>

#include "base/code_point.h"
#include "base/data/yaml.h"
#include "base/data/yaml_scalar.h"

namespace galen {
namespace {

// Feeds libyaml's emitter with a value's events. The emitter can only fail for want of memory or
// when we give it events in a wrong order.
class Writer {
 public:
  Writer() {
    GALEN_CHECK(yaml_emitter_initialize(&emitter_) == 1);
    yaml_emitter_set_output(&emitter_, Append, &text_);
    yaml_emitter_set_unicode(&emitter_, 1);
    // No folding: a long line that is broken is no longer what a person can search for.
    yaml_emitter_set_width(&emitter_, -1);
  }
  ~Writer() { yaml_emitter_delete(&emitter_); }
  Writer(const Writer&) = delete;

  std::string Write(const Json& value);

 private:
  static int Append(void* text, unsigned char* bytes, std::size_t size) {
    static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), size);
    return 1;
  }

  void Emit(int initialized) {
    GALEN_CHECK(initialized == 1 && yaml_emitter_emit(&emitter_, &event_) == 1);
  }
  void Scalar(std::string_view text, yaml_scalar_style_t style);
  void String(std::string_view text);
  void Value(const Json& value);
  void List(const Json& value);
  void Mapping(const Json& value);

  yaml_emitter_t emitter_{};
  yaml_event_t event_{};  // the emitter frees what it was given
  std::string text_;
};

std::string YamlNumber(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return Json(value).Dump();
}

void Writer::Scalar(std::string_view text, yaml_scalar_style_t style) {
  Emit(yaml_scalar_event_initialize(&event_, nullptr, nullptr,
                                    reinterpret_cast<const yaml_char_t*>(text.data()),
                                    static_cast<int>(text.size()), 1, 1, style));
}

// Where a style cannot hold the text, the emitter itself goes on to one that can.
void Writer::String(std::string_view text) {
  // libyaml takes characters that reorder a line for printable.
  if (NeedsQuotes(text) || HasHighControl(text))
    return Scalar(text, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  const bool lines = text.find('\n') != std::string_view::npos;
  Scalar(text, lines ? YAML_LITERAL_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE);
}

void Writer::Value(const Json& value) {
  if (value.is_array()) return List(value);
  if (value.is_object()) return Mapping(value);
  if (value.is_string()) return String(value.AsString());
  // JSON's spellings of null, bools and numbers are YAML's too.
  Scalar(value.is_double() ? YamlNumber(value.AsDouble()) : value.Dump(), YAML_PLAIN_SCALAR_STYLE);
}

void Writer::List(const Json& value) {
  Emit(yaml_sequence_start_event_initialize(&event_, nullptr, nullptr, 1,
                                            YAML_BLOCK_SEQUENCE_STYLE));
  for (const Json& item : value.items()) Value(item);
  Emit(yaml_sequence_end_event_initialize(&event_));
}

void Writer::Mapping(const Json& value) {
  Emit(yaml_mapping_start_event_initialize(&event_, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE));
  for (const auto& [key, member] : value.members()) {
    String(key);
    Value(member);
  }
  Emit(yaml_mapping_end_event_initialize(&event_));
}

std::string Writer::Write(const Json& value) {
  Emit(yaml_stream_start_event_initialize(&event_, YAML_UTF8_ENCODING));
  // The last argument leaves out "---" and "...".
  Emit(yaml_document_start_event_initialize(&event_, nullptr, nullptr, nullptr, 1));
  Value(value);
  Emit(yaml_document_end_event_initialize(&event_, 1));
  Emit(yaml_stream_end_event_initialize(&event_));
  return EscapeHighControls(std::move(text_));
}

}  // namespace

std::string WriteYaml(const Json& value) { return Writer().Write(value); }

}  // namespace galen
