// From the words of a command line, with the policy and the spec document that they name, to a
// request.
#pragma once

#include <span>

#include "base/result.hpp"
#include "cli/options.hpp"

namespace mayfly::cli {

// As parse(), but where a policy or a document is named, its settings come first, so that those of
// the command line win. The first error of any of them is returned; the request then still says
// where the command line wants its result.
[[nodiscard]] Result<void> read_request(const Verb& verb, std::span<char* const> args,
                                        Request& request);

}  // namespace mayfly::cli
