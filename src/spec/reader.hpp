// From a document to the values that it gives the settings, and from those to a spec.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/document.hpp"
#include "spec/setting.hpp"

namespace mayfly::spec {

// The setting of that name, or null.
[[nodiscard]] const Setting* find_setting_named(std::string_view name);

// One value that a document gives a setting.
struct Assignment {
  const Setting* setting = nullptr;
  std::string value;  // as on the command line
  Position at = {};
};

enum class DocumentKind { Policy, Spec };

// The values of a document, in its order. `beside`: keys that are no settings and that the caller
// reads by itself. Errors: a key that is not known or has no place here, a value of a wrong type.
[[nodiscard]] Result<std::vector<Assignment>> read_settings(
    const Document& document, DocumentKind kind, std::initializer_list<std::string_view> beside);

// Applies them in order, and holds each against validate(). Errors say where in `document` the
// value stands. Relative paths start at the draft's working_dir.
[[nodiscard]] Result<void> apply_settings(Draft& draft, const Document& document,
                                          std::span<const Assignment> assignments);

}  // namespace mayfly::spec
