// Verbs: what `mayfly WORD` can be.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace mayfly::cli {

extern const Verb kRunVerb;
extern const Verb kExplainVerb;
extern const Verb kDoctorVerb;
extern const Verb kFeaturesVerb;
extern const Verb kPolicyVerb;
extern const Verb kGcVerb;
extern const Verb kVersionVerb;
extern const Verb kHelpVerb;

// All of them, in the order in which help lists them.
[[nodiscard]] std::span<const Verb* const> verbs();

// The verb of that name, or null.
[[nodiscard]] const Verb* find_verb(std::string_view name);

}  // namespace mayfly::cli
