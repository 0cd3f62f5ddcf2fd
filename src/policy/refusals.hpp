// Refusals: a filter whose refused calls are told to a listener, and what each is to be answered.
//
// The listener is asked by seccomp user notification (kernel 5.0): the call waits until it was
// answered, which takes some ten microseconds. Nothing else about the filter changes: what was
// allowed is, what killed the caller does.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <span>
#include <vector>

namespace mayfly::policy {

// The program with a question to the listener in the place of each errno that it answers.
[[nodiscard]] std::vector<sock_filter> asking(std::span<const sock_filter> program);

// The errno with which `program` (not the asking one) refuses this call. EPERM where it does not,
// or cannot be evaluated: whoever asks does so because a call was refused.
[[nodiscard]] int refusal(std::span<const sock_filter> program, const seccomp_data& data);

}  // namespace mayfly::policy
