// Say: the only code that prints. Each message is one write, so that lines of several processes do
// not mix.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace mayfly::cli {

// The exit code of every failure of ours.
inline constexpr int kFailed = 125;

// "mayfly: cannot …", and a line "hint: …" if there is one; with newlines.
[[nodiscard]] std::string complaint(const Error& error);

// How long to wait for a reader that does not read. None: it has been waited for already.
enum class Patience { Usual, None };

// Prints to standard error. A failure is nothing that could be told to anybody.
void say(std::string_view text, Patience patience = Patience::Usual);

// Standard output was closed when we were started: /dev/null stands there, and takes all.
void miss_standard_output();

// Prints to standard output. Returns 0, or kFailed after a complaint where not all was written.
[[nodiscard]] int print(std::string_view text);

}  // namespace mayfly::cli
