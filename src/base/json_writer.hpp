// JsonWriter: JSON text, written in order. For what is written often and small (status lines, the
// registry): no tree, no exception, always one line. Reading is nlohmann-json's work.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace mayfly {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  // The name of the next value.
  JsonWriter& key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD: hostile names must not break the reader.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth) { return literal(truth ? "true" : "false"); }
  JsonWriter& value(std::signed_integral auto number) { return literal(std::to_string(number)); }
  JsonWriter& value(std::unsigned_integral auto number) { return literal(std::to_string(number)); }
  JsonWriter& null() { return literal("null"); }

  // key and value in one.
  JsonWriter& member(std::string_view name, const auto& content) {
    return key(name).value(content);
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string&& take() { return std::move(text_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& literal(std::string_view text);
  void separate();
  void quote(std::string_view text);

  std::string text_;
};

}  // namespace mayfly
