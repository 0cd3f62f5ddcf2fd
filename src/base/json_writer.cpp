#include "base/json_writer.hpp"

#include "base/text.hpp"

namespace mayfly {

// What was written last tells whether a comma is due: nothing else ends in one of these.
void JsonWriter::separate() {
  if (!text_.empty() && std::string_view("{[:").find(text_.back()) == std::string_view::npos) {
    text_ += ',';
  }
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::literal(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text_ += ':';
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

void JsonWriter::quote(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text_ += '"';
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_sequence(text);
    if (length == 0) {
      text_ += "\xEF\xBF\xBD";                 // U+FFFD
    } else if (byte < 0x20 || byte == 0x7F) {  // TOML forbids DEL, too, as it is
      ((text_ += "\\u00") += kHex[byte >> 4]) += kHex[byte & 15];
    } else {
      if (byte == '"' || byte == '\\') text_ += '\\';
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

}  // namespace mayfly
