// The stock policies, compiled from policies/ when the program was built.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "spec/spec.hpp"

namespace mayfly::policy {

// The variants of a policy's filter. Live: a tree is shared with the host for writing.
enum class Stock { Default, Live, Nesting, NestingLive };
inline constexpr std::size_t kVariants = 4;

// What the stock policy `default` does with a group.
struct StockRule {
  const char* group = nullptr;
  spec::Stand stand = spec::Stand::Deny;
};

// A value that a stock policy gives a setting, and where.
struct StockValue {
  const char* setting = nullptr;  // its name
  const char* value = nullptr;
  unsigned line = 0, column = 0;
};

struct StockPolicy {
  const char* name = nullptr;
  const char* text = nullptr;     // its TOML
  const char* extends = nullptr;  // another stock policy; "": none
  std::span<const StockValue> values;
  std::span<const StockRule> rules;  // what its filters add to `default`, by name
  std::array<std::span<const sock_filter>, kVariants> filters;  // by Stock
};

// The first is `default`. Static storage, as all of this.
[[nodiscard]] std::span<const StockPolicy> stock_policies();
[[nodiscard]] std::span<const StockRule> stock_rules();

// The program of `default` for seccomp(SECCOMP_SET_MODE_FILTER). It allows every call that init
// itself makes (see src/init/), so it is loaded once, by init, and inherited by every task.
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
// The way back; nullopt: this architecture has no such call, or nobody knows it.
[[nodiscard]] std::optional<std::uint32_t> call_number(std::string_view name);
// The highest number of all.
[[nodiscard]] std::uint32_t last_known_call();

}  // namespace mayfly::policy
