// A seccomp filter as data, and its translation to a classic BPF program.
//
// A Filter says what each system call of one architecture is answered; compile() makes the program
// that the kernel loads. Nothing here knows names: src/policy/compiler/ resolves them.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.hpp"

namespace mayfly::policy {

// One test of one argument.
//
// The kernel's parameters are mostly ints, and it ignores the upper half of the register that
// carries them. So do the 32-bit tests: a task must not get past them with rubbish up there.
enum class Test : std::uint8_t {
  Is,         // the low 32 bits equal one of the values
  IsNot,      // the low 32 bits equal none of the values
  Has,        // a bit of the values is set in the low 32 bits
  HasBeyond,  // of all 64 bits, one is set that is in none of the values
  Null,       // all 64 bits are zero; no values
  NotNull,    // one of 64 bits is set; no values
};

struct Condition {
  unsigned argument = 0;  // 0 to 5
  Test test = Test::Is;
  std::vector<std::uint32_t> values;

  bool operator==(const Condition&) const = default;
};

// A call with certain arguments: where every condition holds, `verdict` is the answer.
struct Case {
  std::vector<Condition> when;
  std::uint32_t verdict = 0;  // SECCOMP_RET_…

  bool operator==(const Case&) const = default;
};

// What one call is answered: the first case that applies, else `verdict`.
struct Answer {
  std::uint32_t verdict = 0;
  std::vector<Case> cases;

  bool operator==(const Answer&) const = default;
};

struct Filter {
  std::uint32_t audit_arch = 0;  // AUDIT_ARCH_…
  std::map<std::uint32_t, Answer> calls;
  std::uint32_t otherwise = 0;  // the answer to every number that is not in `calls`
  std::uint32_t foreign = 0;    // the answer to every call of another architecture
};

// The program for seccomp(SECCOMP_SET_MODE_FILTER). Fails if it would be longer than the kernel
// accepts (BPF_MAXINSNS).
[[nodiscard]] Result<std::vector<sock_filter>> compile(const Filter& filter);

}  // namespace mayfly::policy
