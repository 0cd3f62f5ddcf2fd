#include "spec/limit_arguments.hpp"

#include <string>
#include <utility>

#include "base/text.hpp"
#include "spec/arguments.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

Error malformed(std::string_view text, std::string_view what, std::string why, std::string hint) {
  return usage_error("read " + shown(text) + " as " + std::string(what) + ": " + std::move(why),
                     std::move(hint));
}

constexpr const char* kRates = "rbps, wbps, riops and wiops, as in rbps=10M,wiops=100";

struct Rate {
  std::string_view key;
  std::optional<std::uint64_t> IoLimit::*field;
  bool in_bytes;
};
constexpr Rate kRateKeys[] = {{"rbps", &IoLimit::read_bytes, true},
                              {"wbps", &IoLimit::write_bytes, true},
                              {"riops", &IoLimit::read_ops, false},
                              {"wiops", &IoLimit::write_ops, false}};

Result<void> add_rate(std::string_view text, std::string_view word, IoLimit& limit) {
  const std::size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  for (const Rate& rate : kRateKeys) {
    if (key != rate.key || equals == std::string_view::npos) continue;
    const std::string_view value = word.substr(equals + 1);
    if (limit.*rate.field)
      return malformed(text, "a limit of a disk", "a rate is there twice", kRates);
    const std::uint64_t number =
        rate.in_bytes ? TRY(parse_size(value)) : TRY(parse_count(value, UINT32_MAX));
    if (number == 0) {
      return malformed(text, "a limit of a disk", "a rate of 0 would stop it", kRates);
    }
    limit.*rate.field = number;
    return {};
  }
  return malformed(text, "a limit of a disk", shown(word) + " is not a rate", kRates);
}

// The number of a resource: bytes take a unit.
Result<std::optional<std::uint64_t>> parse_value(std::string_view name, std::string_view text) {
  if (text == "unlimited") return std::optional<std::uint64_t>();
  for (const std::string_view bytes : {"as", "data", "fsize", "memlock", "msgqueue", "stack"}) {
    if (name == bytes) return std::optional(TRY(parse_size(text)));
  }
  return std::optional(TRY(parse_count(text, INT64_MAX)));
}

template <class Choice>
Result<Choice> choose(std::string_view text, std::string_view what,
                      std::initializer_list<std::pair<std::string_view, Choice>> choices) {
  std::string names;
  for (const auto& [name, choice] : choices) {
    if (text == name) return choice;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return malformed(text, what, "there is no such choice", "one of " + names);
}

}  // namespace

Result<std::uint64_t> parse_cpus(std::string_view text) {
  constexpr const char* kWhat = "a number of processors";
  constexpr const char* kHint = "a number with at most three decimals, like 2 or 0.5";
  const std::size_t point = text.find('.');
  std::string digits(text.substr(0, point));
  const std::string_view decimals =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (point != std::string_view::npos && decimals.empty()) {
    return malformed(text, kWhat, "it has no decimals after the point", kHint);
  }
  if (decimals.size() > 3) return malformed(text, kWhat, "it has more than three decimals", kHint);
  digits += decimals;
  digits.append(3 - decimals.size(), '0');
  if (point == 0 && digits.find_first_not_of("0123456789") == std::string::npos) {
    return malformed(text, kWhat, "a digit is missing before the point: write 0" + shown(text),
                     kHint);
  }
  const bool is_number = !text.empty() && text[0] != '.' &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return malformed(text, kWhat, "it is not a number", kHint);
  const auto thousandths = parse_count(digits, kMostCpuThousandths);
  if (!thousandths) {
    return malformed(text, kWhat, "it is more than " + format_cpus(kMostCpuThousandths), kHint);
  }
  return *thousandths;
}

Result<IoLimit> parse_io(std::string_view working_dir, std::string_view text) {
  IoLimit limit;
  const std::size_t colon = text.rfind(':');
  const bool has_path = colon != std::string_view::npos;
  limit.path = TRY(absolute_path(working_dir, has_path ? text.substr(0, colon) : "."));
  for (const std::string_view word : split(has_path ? text.substr(colon + 1) : text, ',')) {
    TRY(add_rate(text, word, limit));
  }
  return limit;
}

Result<ResourceLimit> parse_rlimit(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return malformed(text, "a resource limit", "there is no '='",
                     "write it NAME=SOFT or NAME=SOFT:HARD, as in nofile=1024:4096");
  }
  ResourceLimit limit{.name = std::string(text.substr(0, equals))};
  TRY(resource_named(limit.name));
  const std::string_view values = text.substr(equals + 1);
  const std::size_t colon = values.find(':');
  limit.soft = limit.hard = TRY(parse_value(limit.name, values.substr(0, colon)));
  if (colon != std::string_view::npos) {
    limit.hard = TRY(parse_value(limit.name, values.substr(colon + 1)));
  }
  return limit;
}

std::string format_cpus(std::uint64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  std::string decimals = std::to_string(1000 + thousandths % 1000).substr(1);
  while (!decimals.empty() && decimals.back() == '0')
    decimals.pop_back();
  return decimals.empty() ? text : text + "." + decimals;
}

std::string format_io(const IoLimit& limit) {
  std::string text = limit.path;
  char separator = ':';
  for (const Rate& rate : kRateKeys) {
    const std::optional<std::uint64_t>& value = limit.*rate.field;
    if (!value) continue;
    text += std::exchange(separator, ',') + std::string(rate.key) + "=" +
            (rate.in_bytes ? format_size(*value) : std::to_string(*value));
  }
  return text;
}

std::string format_rlimit(const ResourceLimit& limit) {
  const auto one = [](const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : std::string("unlimited");
  };
  return one(limit.soft) + ":" + one(limit.hard);
}

std::string format_layer(LayerKind layer) {
  if (layer == LayerKind::Auto) return "auto";
  return layer == LayerKind::Memory ? "memory" : "disk";
}

std::string format_strictness(Strictness strictness) {
  return strictness == Strictness::Strict ? "strict" : "best-effort";
}

Result<LayerKind> parse_layer(std::string_view text) {
  return choose<LayerKind>(
      text, "a kind of layer",
      {{"auto", LayerKind::Auto}, {"memory", LayerKind::Memory}, {"disk", LayerKind::Disk}});
}

Result<Strictness> parse_strictness(std::string_view text) {
  return choose<Strictness>(
      text, "a way to take limits",
      {{"strict", Strictness::Strict}, {"best-effort", Strictness::BestEffort}});
}

}  // namespace mayfly::spec
