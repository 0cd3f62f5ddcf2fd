// The stock seccomp filters, compiled from policies/ when the program was built.
#pragma once

#include <linux/filter.h>

#include <span>

namespace mayfly::policy {

enum class Stock { Default, Nesting };

// The program for seccomp(SECCOMP_SET_MODE_FILTER). It allows every call that init itself makes
// (see src/init/), so it is loaded once, by init, and inherited by every task. Static storage.
[[nodiscard]] std::span<const sock_filter> stock_filter(Stock which);

}  // namespace mayfly::policy
