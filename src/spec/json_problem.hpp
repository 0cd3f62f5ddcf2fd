// What is wrong with a text that is no JSON, in our own words.
#pragma once

#include <string>
#include <string_view>

namespace mayfly::spec {

// `said`: what nlohmann-json's exception says, which names its own classes and repeats as much of
// the text as it has read.
[[nodiscard]] std::string json_problem(std::string_view said);

}  // namespace mayfly::spec
