// run: what a filter answers, without loading it.
//
// Tells whether a program lets init's own calls through (a policy's filter that does is loaded
// once, otherwise init and its tasks need one each), and what a denied call is to be answered.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <optional>
#include <span>

namespace mayfly::policy {

// The program's answer, SECCOMP_RET_…, or nullopt if it runs off its end or holds an instruction
// other than those that the kernel's own evaluation at load knows: loads of seccomp_data by word,
// conditional and plain jumps, AND, return; each with a constant.
[[nodiscard]] std::optional<std::uint32_t> run(std::span<const sock_filter> program,
                                               const seccomp_data& data);

// Whether a conditional jump is taken with this word; nullopt: it is none of those.
[[nodiscard]] std::optional<bool> compare(const sock_filter& jump, std::uint32_t word);

}  // namespace mayfly::policy
