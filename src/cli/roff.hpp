// Texts of the tables as mdoc(7). Used only by the build.
#pragma once

#include <string>
#include <string_view>

namespace mayfly::cli {

// Text as roff shows it unchanged; `literal` becomes bold.
[[nodiscard]] std::string roff(std::string_view text);

// Paragraphs split by empty lines, each sentence on a line of its own as mdoc wants it.
[[nodiscard]] std::string roff_paragraphs(std::string_view text);

}  // namespace mayfly::cli
