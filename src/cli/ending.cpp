#include "cli/ending.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/say.hpp"

namespace mayfly::cli {
namespace {

using supervise::Canceller;
using supervise::Outcome;
using supervise::Reason;

std::string reason_text(const Outcome& outcome) {
  std::string text(supervise::reason_name(outcome.reason));
  if (outcome.cancelled_by == Canceller::Caller) {
    return text + " since its caller ended (--keep-running goes on without it)";
  }
  if (outcome.cancelled_by == Canceller::Control) return text + " by its control descriptor";
  if (outcome.reason != Reason::Cancelled || !outcome.signal) return text;
  const char* name = ::sigabbrev_np(*outcome.signal);
  return text + (name != nullptr ? " by SIG" + std::string(name)
                                 : " by signal " + std::to_string(*outcome.signal));
}

std::string ended_by_us(const Outcome& outcome) {
  std::string text = "mayfly: ended";
  if (outcome.usage.wall_ns.value) text += " after " + time_text(*outcome.usage.wall_ns.value);
  return text + ": " + reason_text(outcome) + " (" + std::to_string(outcome.code) + ")\n";
}

// The refused calls, the most frequent first, as far as a line or two hold them.
std::string denials_text(const Outcome& outcome) {
  if (!outcome.denials || outcome.denials->empty()) return {};
  constexpr std::size_t kMost = 12;
  std::vector<supervise::Denial> denials = *outcome.denials;
  std::stable_sort(denials.begin(), denials.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  std::string text;
  for (std::size_t i = 0; i < std::min(denials.size(), kMost); ++i) {
    const supervise::Denial& denial = denials[i];
    text += (text.empty() ? "" : ", ") + denial.call + " (" + errno_name(denial.error);
    text += denial.count == 1 ? ")" : ", " + std::to_string(denial.count) + " times)";
  }
  if (denials.size() > kMost) text += " and " + std::to_string(denials.size() - kMost) + " others";
  return "mayfly: refused system calls: " + text + "\n";
}

// Where not all of them could be told.
std::string untold_text(const Outcome& outcome) {
  std::string text;
  for (const plan::Note& note : outcome.notes) {
    if (outcome.denials && note.what == "denials") text += "mayfly: denials: " + note.how + "\n";
  }
  return text;
}

// A program that cannot even start says nothing by itself.
std::string missed_text(const Outcome& outcome) {
  std::string text;
  for (const plan::Note& note : outcome.notes) {
    if (outcome.code != 0 && note.what == "syscalls") text += "mayfly: " + note.how + "\n";
  }
  return text;
}

std::string main_line(const Outcome& outcome) {
  if (outcome.reason == Reason::Exited || outcome.reason == Reason::Signaled) return {};
  return outcome.error ? complaint(*outcome.error) : ended_by_us(outcome);
}

}  // namespace

std::string ending_text(const Outcome& outcome) {
  std::string text =
      denials_text(outcome) + untold_text(outcome) + missed_text(outcome) + main_line(outcome);
  if (!outcome.clean) text += "mayfly: not a clean end: " + outcome.unclean_why + "\n";
  return text;
}

}  // namespace mayfly::cli
