// TOML and JSON as trees with places, and what is refused, where.
#include "spec/document.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mayfly;
using namespace mayfly::spec;
using namespace std::string_literals;

namespace {

std::string places(const Node& node) {
  std::string text = std::to_string(node.at.line) + ":" + std::to_string(node.at.column);
  if (node.kind == Node::Kind::Table) text += "{";
  if (node.kind == Node::Kind::Array) text += "[";
  text += node.text;
  for (const Node& item : node.items)
    text += " " + places(item);
  for (const Member& member : node.members) {
    text += " " + std::to_string(member.at.line) + ":" + std::to_string(member.at.column) +
            member.key + "=" + places(member.value);
  }
  if (node.kind == Node::Kind::Table) text += "}";
  if (node.kind == Node::Kind::Array) text += "]";
  return text;
}

std::string complaint(Syntax syntax, const std::string& text) {
  const Result<Document> document = parse_document("f", text, syntax);
  REQUIRE_FALSE(document);
  CHECK(document.error().kind == ErrorKind::Usage);
  return document.error().action;
}

}  // namespace

TEST_CASE("each value and key of a document knows its place") {
  const Result<Document> json = parse_document(
      "f", "{\"a\": [1, -2, true],\n \"b\\\"\\\\\": {\"ä\": \"x\\\"y\"}, \"c\": null, \"d\":1.5}");
  REQUIRE(json);
  CHECK(places(json->root) ==
        "1:1{ 1:2a=1:7[ 1:81 1:11-2 1:15true] 2:2b\"\\=2:11{ 2:12ä=2:17x\"y} 2:26c=2:31null "
        "2:37d=2:411.5}");

  const Result<Document> toml =
      parse_document("f", "b = 1\na = ['x', true]\n[t]\nz = 1979-05-27\ny.x = -3\n");
  REQUIRE(toml);
  CHECK(places(toml->root) ==
        "1:1{ 1:1b=1:51 2:1a=2:5[ 2:6x 2:11true] 3:2t=3:1{ 4:1z=4:5a date or time "
        "5:1y=5:1{ 5:3x=5:7-3}}}");
}

TEST_CASE("a document is JSON by its name or its first character") {
  CHECK(parse_document("f", " \n{\"a\": 1}"));
  CHECK(parse_document("f.toml", "a = 1"));
  CHECK_FALSE(parse_document("f.json", "a = 1"));
  CHECK(parse_document("f", "")->root.members.empty());
}

TEST_CASE("a mark at the beginning of a file in UTF-8 is passed over") {
  const Result<Document> json = parse_document("f", "\xEF\xBB\xBF{\"a\": 1}");
  REQUIRE(json);
  CHECK(places(json->root) == "1:1{ 1:2a=1:71}");
  CHECK(parse_document("f.json", "\xEF\xBB\xBF{\"a\": 1}"));
  CHECK(places(parse_document("f",
                              "\xEF\xBB\xBF"
                              "a = 1")
                   ->root) == "1:1{ 1:1a=1:51}");
}

TEST_CASE("a whole number is one, however large") {
  const Result<Document> json = parse_document("f", "{\"a\": 99999999999999999999}");
  REQUIRE(json);
  CHECK(json->root.find("a")->kind == Node::Kind::Integer);
  CHECK(json->root.find("a")->text == "99999999999999999999");
}

TEST_CASE("what is no document is refused with its place") {
  CHECK(complaint(Syntax::Json, "{\"a\": 1,\n  \"b\": 2,\n  \"a\": 3}") ==
        "read f:3:3: the key a is there twice");
  CHECK(complaint(Syntax::Json, "{\"x\": {\"a\": 1, \"\\u0061\": 2}}") ==
        "read f:1:16: the key a is there twice");
  CHECK(complaint(Syntax::Json, "[1]") == "read f:1:1: it is no object");
  CHECK(complaint(Syntax::Json, "{\"a\": }") == "read f:1:7: a value must be here");
  CHECK(complaint(Syntax::Json, "") == "read f:1:1: it ends in the middle");
  CHECK(complaint(Syntax::Json, "{} x") == "read f:1:4: nothing may follow the value");
  CHECK(complaint(Syntax::Json, "{\"a\": 1}\n\0{\"b\":"s) ==
        "read f:2:1: a NUL byte has no place in JSON");
  CHECK(complaint(Syntax::Json, "{\"a\": 1}\0"s) == "read f:1:9: a NUL byte has no place in JSON");
  CHECK(complaint(Syntax::Json, "{\"a\": \"\xff\"}") == "read f:1:8: this byte is not UTF-8");
  CHECK(complaint(Syntax::Json, std::string(100'000, '[')).find("nested too deeply") !=
        std::string::npos);

  CHECK(complaint(Syntax::Toml, "a = 1\nb = 2\na = 3\n").starts_with("read f:3:"));
  CHECK(complaint(Syntax::Toml, "[t]\n[t]\n").starts_with("read f:2:"));
  CHECK(complaint(Syntax::Toml, "a = " + std::string(2000, '[')).find("TOML_") ==
        std::string::npos);
  CHECK(complaint(Syntax::Toml, "a = \n").starts_with("read f:1:"));
  CHECK(complaint(Syntax::Toml, "# \xe4\n") == "read f:1:3: this byte is not UTF-8");
  CHECK(complaint(Syntax::Toml, "a"s + "\0"s + " = 1").starts_with("read f:1:"));
  std::string deep = "a";
  for (int i = 0; i < 200'000; ++i)
    deep += ".a";
  CHECK(complaint(Syntax::Toml, deep + " = 1") == "read f:1:66: tables are nested too deeply here");
  CHECK(complaint(Syntax::Toml, "x = 1\n['']\n[" + deep + "]") ==
        "read f:3:67: tables are nested too deeply here");
  CHECK_FALSE(parse_document("f", "a = " + std::string(100'000, '['), Syntax::Toml));
  CHECK(complaint(Syntax::Toml, std::string((1u << 20) + 1, '\n')) ==
        "read f: it is longer than 1 MiB");
}

TEST_CASE("whatever is no document is told with a remedy, and in words of its own") {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"a = \"x\nb = 1",
       "read f:1:7: a text is not closed on this line; end it with its quote; one "
       "of several lines is in three quotes each"},
      {"a = \"x\x01y\"",
       "read f:1:7: a control character in a text must be escaped; write it as "
       "\\n, \\t or \\u0001"},
      {"a = x",
       "read f:1:5: no value begins so; a text is in quotes; numbers, true and false are not"},
      {"{\"a\": 1, \"a\": 2}", "read f:1:10: the key a is there twice; leave one of them out"},
      {"[]",
       "read f:1:2: no table begins so; a table begins with its name in brackets, as in "
       "[syscalls]; "
       "JSON is one object in braces: { \"name\": … }"},
      {"\n[{\"a\": 1}]",
       "read f:2:2: no table begins so; a table begins with its name in brackets, as in "
       "[syscalls]; "
       "JSON is one object in braces: { \"name\": … }"},
      {"[t]\na = x",
       "read f:2:5: no value begins so; a text is in quotes; numbers, true and false are not"},
      {"{\"a\" 1}", "read f:1:6: a ':' must be here; write \"name\": value"},
      {"{\"a\": 05}",
       "read f:1:7: a number has no leading zero; leave it out; a mode is a text: \"022\""},
      {"{\"a\": [5s]}", "read f:1:8: a number with a unit is a text; write it in quotes: \"5s\""},
      {"{\"a\": .5}", "read f:1:7: a digit is missing before the point; write 0.5"},
      {"{\"a\": 1.}", "read f:1:7: a digit is missing after the point; write 1"},
      {"{\"a\": +1}", "read f:1:7: a number has no plus sign; write 1"},
      {"{\"a\": -NaN}", "read f:1:7: this is no number; write it like 64 or 0.5"},
      {"{\"a\": 1e400}", "read f:1:7: this number is too large; write a smaller one"},
      {"{\"a\": \"x\" 5s}",
       "read f:1:11: a ',' or '}' must be here; put a comma between members, and a brace behind "
       "the last one"},
      {"{\"a\": 1_000}", "read f:1:7: this is no number; write it like 64 or 0.5"},
      {"a = .5", "read f:1:5: a digit is missing before the point; write 0.5"},
      {"a = [ 1. ]", "read f:1:7: a digit is missing after the point; write 1"},
      {"a = -.5h",
       "read f:1:5: a digit is missing before the point; write it in quotes: \"-0.5h\""},
      {"a = 5m\n", "read f:1:5: a number with a unit is a text; write it in quotes: \"5m\""},
      {"a = 022",
       "read f:1:5: a number has no leading zero; leave it out; a mode is a text: \"022\""},
      {"a = 99999999999999999999", "read f:1:5: this number is too large; write a smaller one"},
      {"b = 1\nttttl = 1\nttttl = 2",
       "read f:3:1: the key ttttl is there already; each key and each [table] is there once: leave "
       "one out, or join them"},
      {"a = { b = 1, b = 2 }",
       "read f:1:14: the key b is there already; each key and each [table] is there once: leave "
       "one out, or join them"},
      {"'a' = 1\n'a' = 2",
       "read f:2:1: the key a is there already; each key and each [table] is there once: leave one "
       "out, or join them"},
      {"[a]\n[a]  # x",
       "read f:2:1: the name in [a] is there already; each key and each [table] is there once: "
       "leave "
       "one out, or join them"},
  };
  for (const auto& each : cases) {
    const Result<Document> document = parse_document("f", each.text);
    REQUIRE_FALSE(document);
    CHECK(document.error().action + "; " + document.error().hint == each.message);
  }
  for (const std::string text : {"a = 1\na = 2",
                                 "[t]\n[t]",
                                 "a = ",
                                 "a 5",
                                 "a = 5m",
                                 "[t",
                                 "a = [ 1",
                                 "a = { b = 1",
                                 "a = 022",
                                 "a = 'x'y",
                                 "= 5",
                                 "a = {\n b = 1 }",
                                 "a = { b = 1, }",
                                 "a = tru",
                                 "a = 99999999999999999999",
                                 "{",
                                 "{}x",
                                 "{\"a\": tru}",
                                 "{\"a\": \"x",
                                 "{\"a\": [1",
                                 "{\"a\": \"\\q\"}",
                                 "{\"a\": 1,}"}) {
    CAPTURE(text);
    const Result<Document> document = parse_document("f", text);
    REQUIRE_FALSE(document);
    CHECK_FALSE(document.error().hint.empty());
  }
  for (const Syntax syntax : {Syntax::Json, Syntax::Toml}) {
    const std::string deep = (syntax == Syntax::Json ? "" : "a = ") + std::string(500, '[');
    CHECK(parse_document("f", deep, syntax).error().hint == kFlatter);
    CHECK_FALSE(parse_document("f", "", Syntax::Json).error().hint.empty());
  }
}

TEST_CASE("a number with a fraction is what is written") {
  const auto toml = parse_document("f", "a = 0.5\nb = 100000.0\nc = 1e300", Syntax::Toml);
  REQUIRE(toml);
  CHECK(toml->root.find("a")->text == "0.5");
  CHECK(toml->root.find("b")->text == "100000");
  CHECK(toml->root.find("c")->text.size() == 301);
  const auto json = parse_document("f", "{\"a\": 0.1000000000000000000001}", Syntax::Json);
  REQUIRE(json);
  CHECK(json->root.find("a")->text == "0.1000000000000000000001");
}

TEST_CASE("what is said of a document can be given a terminal, and its place is there") {
  CHECK(complaint(Syntax::Toml, "a = 1\n\nb = \"\"\"x\n\n").starts_with("read f:4:1: "));
  const std::string json = complaint(Syntax::Json, "{\"\x7f\xc2\x9b\": 1, \"\x7f\xc2\x9b\": 2}");
  CHECK(json.find("\\x7f\\xc2\\x9b") != json.npos);
  CHECK(complaint(Syntax::Json, "{\"" + std::string(100'000, 'x')).size() < 1100);
  CHECK(parse_document("a\nb", "=").error().action.starts_with("read a\\x0ab:1:1: "));
}

// Elsewhere they are undefined to the library, which the sanitizers' build sees.
TEST_CASE("characters outside ASCII are no blanks") {
  for (const std::string text : {"ä = 1", "a = ä", "\xef\xbb\xaf", "a = 1 \u2003 # x"}) {
    CAPTURE(text);
    CHECK(complaint(Syntax::Toml, text).starts_with("read f:1:"));
  }
  const auto document = parse_document("f", "a = \"\"\"\\\n ä\"\"\"", Syntax::Toml);
  REQUIRE(document);
  CHECK(document->root.find("a")->text == "ä");
}

TEST_CASE("columns count characters, also where the text is no longer one") {
  CHECK(complaint(Syntax::Toml, "# \xc3\xa4\xe2\x82\xac\xff") ==
        "read f:1:5: this byte is not UTF-8");
}

TEST_CASE("dots in texts and comments are no depth") {
  const std::string dots(100, '.');
  for (const std::string& text :
       {"a = \"\\\"" + dots + "\"", "a = '" + dots + "'", "# " + dots + "\na = 1",
        "a = \"\"\"\n\"" + dots + "\"\"\"", "a = [\"\"\"x\"\"\"\", \"" + dots + "\"]",
        "a = ['''' ''''', '" + dots + "']", "a = '''" + dots + "'\n'''"}) {
    CAPTURE(text);
    CHECK(parse_document("f", text, Syntax::Toml));
  }
}

TEST_CASE("a large document takes no time that grows with its square") {
  std::string text = "{";
  for (int i = 0; text.size() < 900'000; ++i)
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  CHECK(parse_document("f", text + "}")->root.members.size() > 50'000);
}
