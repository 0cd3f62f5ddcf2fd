#include "cli/roff.hpp"

#include <cstddef>

namespace mayfly::cli {

std::string roff(std::string_view text) {
  std::string out;
  bool literal = false;
  for (char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        literal = !literal;
        out += literal ? "\\fB" : "\\fR";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string roff_paragraphs(std::string_view text) {
  std::string out;
  std::string line;
  const auto end_line = [&] {
    if (line.empty()) return;
    if (line[0] == '.') out += "\\&";
    out += roff(line) + "\n";
    line.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\n\n") {
      end_line();
      out += ".Pp\n";
      ++i;
    } else if (text.substr(i, 2) == ". ") {
      line += '.';
      end_line();
      ++i;
    } else {
      line += text[i] == '\n' ? ' ' : text[i];
    }
  }
  end_line();
  return out;
}

}  // namespace mayfly::cli
