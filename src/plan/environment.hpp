// The task's environment: a small base of its own, then the spec's rules in their order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

namespace mayfly::plan {

// Whether the task's stdio is a terminal: a pty of the sandbox's own that stands in for the
// caller's, or the caller's itself (unsafe). Only then is TERM set.
enum class Terminal { None, Present };

// "NAME=VALUE" for the task. Nothing of the caller's environment is in it but what a rule names.
//
// The base, in this order: PATH, HOME, USER, LOGNAME, SHELL, TMPDIR=/tmp, LANG=C.UTF-8, MAYFLY=1
// (so that a script can tell where it runs), TZ if the caller has one that is a plain zone name,
// TERM if there is a terminal. The sandbox's id is not in it: it is bound after this was made.
//
// Rules win over the base and over earlier rules. A PassName of a variable that the caller does not
// have, or a pattern that matches none, changes nothing. An empty name, or one with '=' or NUL, is
// an error. Of two caller variables with one name the first counts, as for getenv.
[[nodiscard]] Result<std::vector<std::string>> task_environment(
    const spec::Spec& spec, const Ids& ids, const std::vector<std::string>& caller_env,
    Terminal terminal);

// The value of a variable in a "NAME=VALUE" list, or null.
[[nodiscard]] const char* find_variable(const std::vector<std::string>& env, std::string_view name);

// True if the whole text matches: '*' any bytes, '?' one byte, [abc], [a-z], [!a-z] one of a set,
// '\' takes the next byte as it is. A '[' without its ']' is an ordinary byte.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

// What the kernel would refuse with E2BIG, named: a single string above 128 KiB, or more in all
// than a quarter of the stack limit and 6 MiB (execve(2)).
[[nodiscard]] Result<void> check_exec_size(const std::vector<std::string>& argv,
                                           const std::vector<std::string>& env,
                                           std::uint64_t stack_bytes);

}  // namespace mayfly::plan
