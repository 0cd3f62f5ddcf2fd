// Writes a man page or the completion script, made from its template and the option tables, to
// standard output. Used only by the build.
#include <cstdio>
#include <string>

#include "cli/docs.hpp"

namespace {

int fail(const std::string& text) {
  std::fprintf(stderr, "mayfly_docs: %s\n", text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mayfly;
  if (argc != 2) return fail("usage: mayfly_docs TEMPLATE");
  std::FILE* file = std::fopen(argv[1], "r");
  if (file == nullptr) return fail(std::string("cannot open ") + argv[1]);
  std::string text;
  for (int c = 0; (c = std::fgetc(file)) != EOF;)
    text += static_cast<char>(c);
  std::fclose(file);
  const Result<std::string> filled = cli::fill_template(text);
  if (!filled) return fail(std::string(argv[1]) + ": " + describe(filled.error()));
  std::fwrite(filled->data(), 1, filled->size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : fail("cannot write to standard output");
}
