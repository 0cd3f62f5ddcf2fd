// Which entries of /etc are not for everybody's eyes.
//
// A task with the caller's own ids could read, through the host's /etc, whatever those ids may:
// supplementary groups cannot be dropped in an unprivileged user namespace. The plan masks these.
#pragma once

#include <string>
#include <vector>

#include "host/facts.hpp"

namespace mayfly::host {

// Paths relative to `etc`, e.g. "shadow", "ssl/private", sorted. A directory that not everybody
// may list and enter is one entry; nothing below it is looked at. Symbolic links are left out:
// what they lead to is judged where it is.
//
// Whole: every entry, recursively. Known: only well-known names, some ten look-ups.
enum class EtcScan { None, Known, Whole };
[[nodiscard]] Result<std::vector<std::string>> private_entries(const std::string& etc,
                                                               EtcScan scan);

// How much must be looked at for this caller, from its ids alone.
[[nodiscard]] EtcScan needed_scan(const HostFacts& facts);

}  // namespace mayfly::host
