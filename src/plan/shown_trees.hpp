// What the caller shows inside: the project and the entries of --ro, --rw, --cow and their like.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "host/facts.hpp"
#include "plan/plan.hpp"
#include "plan/project.hpp"
#include "spec/spec.hpp"

namespace mayfly::plan {

// in_skeleton: the project's mount point is a directory of the root's skeleton.
[[nodiscard]] Result<void> add_project(const spec::Spec& spec, const host::HostFacts& facts,
                                       const Project& project, bool in_skeleton, Plan& plan);

[[nodiscard]] Result<void> add_entry(const spec::FsEntry& entry, const host::HostFacts& facts,
                                     const spec::Spec& spec, Plan& plan);

// Makes the home directory anew where what is shown hides the root's own: the steps from
// `first_shown` on. Where nothing can be made, or something is there already, nothing is done.
void keep_home(std::size_t first_shown, Plan& plan);

}  // namespace mayfly::plan
