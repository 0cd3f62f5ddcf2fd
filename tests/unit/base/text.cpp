#include "base/text.hpp"

#include <doctest/doctest.h>

using namespace mayfly;

TEST_CASE("shell_word: what a shell reads as the text") {
  CHECK(shell_word("plain/path:x=1") == "plain/path:x=1");
  CHECK(shell_word("two words") == "'two words'");
  CHECK(shell_word("it's $HOME") == R"('it'\''s $HOME')");
  CHECK(shell_word("a\\b") == "'a\\b'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a\nb") == "'a\\x0ab'");
}

TEST_CASE("shown: hostile bytes never reach a terminal as they are") {
  CHECK(shown("plain/path") == "plain/path");
  CHECK(shown("two words") == "'two words'");
  CHECK(shown("a\nb\x1b[2J") == "a\\x0ab\\x1b[2J");
  CHECK(shown("\xff\xc0\x80") == "\\xff\\xc0\\x80");
  CHECK(shown("grün") == "grün");
  CHECK(shown("\xc2\x9b"
              "2J\x7f") == "\\xc2\\x9b2J\\x7f");  // U+009B begins what ESC [ begins
  CHECK(shown("a\u202eb\u2069\u200f") == "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa9\\xe2\\x80\\x8f");
  CHECK(shown("\u200d\u2030\u206a€😀") == "\u200d\u2030\u206a€😀");
  CHECK(shown("") == "''");
  CHECK(shown(std::string(500, 'x')).size() < 210);
}

TEST_CASE("with_controls_escaped: what a terminal may obey is told by its number") {
  CHECK(with_controls_escaped("{\n \"ä€😀\": \"\u009b2J\u202e\"}") ==
        "{\n \"ä€😀\": \"\\u009b2J\\u202e\"}");
  CHECK(with_controls_escaped("\xff") == "\xff");
}

TEST_CASE("printable: no more than what was asked for and no part of a character") {
  CHECK(printable("two 'words'\n") == "two 'words'\\x0a");
  CHECK(printable("aäb", 2) == "aä…");
  CHECK(printable("aä", 2) == "aä");
  CHECK(printable("") == "");
}

TEST_CASE("is_utf8 refuses overlong forms, surrogates and truncation") {
  CHECK(is_utf8("grün €"));
  CHECK_FALSE(is_utf8("\xc0\xaf"));
  CHECK_FALSE(is_utf8("\xed\xa0\x80"));
  CHECK_FALSE(is_utf8("\xf4\x90\x80\x80"));
  CHECK_FALSE(is_utf8("\xe2\x82"));
}

TEST_CASE("normal_path and is_within") {
  CHECK(normal_path("//a/./b/../c/") == "/a/c");
  CHECK(normal_path("/../..") == "/");
  CHECK(is_within("/a/b", "/a"));
  CHECK(is_within("/a", "/a"));
  CHECK_FALSE(is_within("/ab", "/a"));
  CHECK(is_within("/x", "/"));
}

TEST_CASE("time_text") {
  CHECK(time_text(0) == "0.0s");
  CHECK(time_text(99'999'999) == "0.0s");
  CHECK(time_text(59'999'999'999) == "59.9s");
  CHECK(time_text(60'000'000'000) == "1m00s");
  CHECK(time_text(3'599'999'999'999) == "59m59s");
  CHECK(time_text(3'600'000'000'000) == "1h00m");
  CHECK(time_text(UINT64_MAX) == "5124095h34m");
}
