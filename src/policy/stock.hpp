// The stock seccomp filters, compiled from policies/ when the program was built.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace mayfly::policy {

enum class Stock { Default, Live, Nesting, NestingLive };

// The program for seccomp(SECCOMP_SET_MODE_FILTER). It allows every call that init itself makes
// (see src/init/), so it is loaded once, by init, and inherited by every task. Static storage.
[[nodiscard]] std::span<const sock_filter> stock_filter(Stock which);

// A system call as a filter sees it.
struct SystemCall {
  std::uint32_t number = 0;
  std::array<std::uint64_t, 6> args = {};
};

// What init calls, from [init] of policies/syscalls.toml: a filter that allows all of these may be
// loaded by init itself. Static storage.
[[nodiscard]] std::span<const SystemCall> init_calls();

// The name of a system call of this architecture, by libseccomp's or syscalls.toml's word for it.
// Empty: nobody knows it. Static storage.
[[nodiscard]] std::string_view call_name(std::uint32_t number);

}  // namespace mayfly::policy
