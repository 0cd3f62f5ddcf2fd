// Writes a man page, the completion script or a schema, made from its template and the tables, to
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
  if (argc != 3) return fail("usage: mayfly_docs TEMPLATE SCHEMA_DIRECTORY");
  std::FILE* file = std::fopen(argv[1], "r");
  if (file == nullptr) return fail(std::string("cannot open ") + argv[1]);
  std::string text;
  for (int c = 0; (c = std::fgetc(file)) != EOF;)
    text += static_cast<char>(c);
  std::fclose(file);
  const Result<std::string> filled = cli::fill_template(text, argv[2]);
  if (!filled) return fail(std::string(argv[1]) + ": " + describe(filled.error()));
  std::fwrite(filled->data(), 1, filled->size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : fail("cannot write to standard output");
}
