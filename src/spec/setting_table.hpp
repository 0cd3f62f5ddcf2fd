// The table of settings, in the order of --help and the manual. A row that is added here, or rather
// in one of the three lists that it is made of, is an option and a key of documents.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include "spec/limit_settings.hpp"
#include "spec/other_settings.hpp"
#include "spec/world_settings.hpp"

namespace mayfly::spec {

inline constexpr auto kSettings = [] {
  std::array<Setting, std::size(setters::kWorldSettings) + std::size(setters::kLimitSettings) +
                          std::size(setters::kOtherSettings)>
      all{};
  auto* end = all.begin();
  end = std::copy(std::begin(setters::kWorldSettings), std::end(setters::kWorldSettings), end);
  end = std::copy(std::begin(setters::kLimitSettings), std::end(setters::kLimitSettings), end);
  std::copy(std::begin(setters::kOtherSettings), std::end(setters::kOtherSettings), end);
  return all;
}();

}  // namespace mayfly::spec
