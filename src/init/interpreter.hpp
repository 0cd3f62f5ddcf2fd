// Why an execve answered ENOENT although the file is there: the interpreter that it names is not.
// That is a script's "#!" line, or the dynamic loader of an ELF program.
#pragma once

#include "launch/protocol.hpp"

namespace mayfly::init {

using InterpreterName = char[sizeof(launch::Message::text)];

// True if `path` can be read and names an interpreter, itself or through its interpreter, that does
// not exist. `missing` is then its name, cut where it is too long. Runs in the task's child, with
// the task's rights: the files are hostile, the names in them too.
[[nodiscard]] bool find_missing_interpreter(const char* path, InterpreterName& missing) noexcept;

}  // namespace mayfly::init
