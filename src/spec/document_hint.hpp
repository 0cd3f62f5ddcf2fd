// What a hint says of options, as it is written in a document.
#pragma once

#include <string>
#include <string_view>

namespace mayfly::spec {

// "write --tty auto or --rlimit nofile=64" as
// "write tty = "auto" or rlimits = { nofile = "64" }". What shows a whole command stays as it is.
[[nodiscard]] std::string in_document(std::string_view hint);

}  // namespace mayfly::spec
