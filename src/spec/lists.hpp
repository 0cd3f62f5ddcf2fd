// What a spec has in its lists, as documents write it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "spec/setting.hpp"

namespace mayfly::spec {

// One value of a list: `item` is the setting's item_key(), or a pair's own name.
struct ListValue {
  std::string item;
  std::string text;
};

// A key whose value is a list (Form::Item, Strings or Pairs).
struct ListKey {
  const char* key = nullptr;
  Form form = Form::Item;
  std::vector<ListValue> (*values)(const Spec& spec) = nullptr;
};

[[nodiscard]] std::span<const ListKey> list_keys();

}  // namespace mayfly::spec
