// The fuzzers: for each parser of foreign text a function that feeds it one input, and ends the
// program where what comes out is not as it must be. They open no file and start nothing.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "spec/document.hpp"

namespace mayfly::fuzz {

// Policies, one or more in a text, parted by lines "#--": the first is loaded, and may extend the
// others, which are called second and build.
void policy(std::string_view input);
// A spec, in TOML or JSON.
void spec(std::string_view input);
// A foreign seccomp profile.
void profile(std::string_view input);
// A line of --control-fd.
void control(std::string_view input);

// Ends the program unless it holds. `about`: what it is about, as it was found.
void require(bool holds, std::string_view property, std::string_view about = {});

// An error says something, in a line that a terminal can be given.
void check_message(const Error& error);

struct Text {
  std::string_view name, text;
};
// The same, and it says a place, which is in one of these texts.
void check_placed_message(const Error& error, std::span<const Text> texts);

// Every place of a document's is in its text, and no key is in a table twice.
void check_document(const spec::Document& document, std::string_view text);

}  // namespace mayfly::fuzz
