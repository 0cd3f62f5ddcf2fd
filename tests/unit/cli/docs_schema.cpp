// What the build puts into schemas, and what it makes of them for the man pages.
#include "cli/docs_schema.hpp"

#include <doctest/doctest.h>

#include <string>

#include "../supervise/support.hpp"
#include "cli/docs.hpp"
#include "spec/setting_table.hpp"

using namespace mayfly;
using namespace mayfly::cli;
using namespace mayfly::test;

namespace {

void write(const TempDir& directory, const std::string& name, const std::string& text) {
  write_text(directory / name, text);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("man_members: each member with its type and its unit and whether it is always there") {
  const TempDir schemas;
  write(schemas, "other.json",
        R"({"$defs": {"t": {"type": "array", "items": {"type": "string"}}}})");
  write(schemas, "x.json", R"({"required": ["a_ns", "b"], "properties": {
    "a_ns": {"description": "How long. Not more.", "type": ["integer", "null"]},
    "b": {"description": "A table.", "type": "object", "properties": {"c-d": {"const": 1}}},
    "e": {"description": "words", "$ref": "other.json#/$defs/t"}}})");
  const auto page = fill_template("@MEMBERS x@\n", schemas.path());
  REQUIRE(page);
  CHECK(*page ==
        ".Bl -tag -width Ds\n"
        ".It Va a_ns Pq integer or null, nanoseconds\nHow long.\nNot more.\n"
        ".It Va b Pq object\nA table.\n"
        ".Bl -tag -width Ds\n.It Va c\\-d Pq always 1\n.El\n"
        ".It Va e Pq array of string, not always there\nwords.\n.El\n");
  write(schemas, "y.json", R"({"properties": {"a": {"$ref": "x.json#/nothing"}}})");
  CHECK(fill_template("@MEMBERS y@\n", schemas.path()).error().action ==
        "resolve x.json#/nothing: there is no such schema");
  CHECK_FALSE(fill_template("@MEMBERS none@\n", schemas.path()));
}

TEST_CASE("schema_settings has every key of a document once") {
  const std::string text = schema_settings();
  for (const spec::Setting& setting : spec::kSettings) {
    const std::string key = "    \"" + std::string(setting.document_key()) + "\": {";
    CAPTURE(key);
    CHECK(contains(text, key));
    CHECK(text.find(key) == text.rfind(key));
  }
}
