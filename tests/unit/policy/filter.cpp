// The translation of a Filter: what the program answers is what the data says.
#include "policy/filter.hpp"

#include <doctest/doctest.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cstddef>
#include <random>

#include "policy/machine.hpp"

using namespace mayfly;
using policy::Answer;
using policy::Case;
using policy::Condition;
using policy::Filter;
using policy::Test;

namespace {

constexpr std::uint32_t kArch = 0xC00000B7;
constexpr std::uint32_t kOtherwise = 38, kForeign = 99;

Filter empty() {
  return {.audit_arch = kArch, .calls = {}, .otherwise = kOtherwise, .foreign = kForeign};
}

seccomp_data call(std::uint32_t number, std::array<std::uint64_t, 6> args = {}) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = kArch;
  std::copy(args.begin(), args.end(), data.args);
  return data;
}

std::vector<sock_filter> compiled(const Filter& filter) {
  auto program = policy::compile(filter);
  REQUIRE(program);
  return *program;
}

bool holds(const Condition& condition, std::uint64_t argument) {
  const auto low = static_cast<std::uint32_t>(argument);
  std::uint32_t bits = 0;
  bool equal = false;
  for (const std::uint32_t value : condition.values) {
    bits |= value;
    equal = equal || low == value;
  }
  switch (condition.test) {
    case Test::Is:
      return equal;
    case Test::IsNot:
      return !equal;
    case Test::Has:
      return (low & bits) != 0;
    case Test::HasBeyond:
      return (argument & ~std::uint64_t{bits}) != 0;
    case Test::Null:
      return argument == 0;
    case Test::NotNull:
      return argument != 0;
  }
  return false;
}

std::uint32_t meaning(const Filter& filter, const seccomp_data& data) {
  if (data.arch != filter.audit_arch) return filter.foreign;
  const auto found = filter.calls.find(static_cast<std::uint32_t>(data.nr));
  if (found == filter.calls.end()) return filter.otherwise;
  for (const Case& one : found->second.cases)
    if (std::all_of(one.when.begin(), one.when.end(), [&](const Condition& condition) {
          return holds(condition, data.args[condition.argument]);
        }))
      return one.verdict;
  return found->second.verdict;
}

// Random filters over few values, so that conditions often hold.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  std::uint64_t argument() {
    const std::uint64_t high = below(3) == 0 ? std::uint64_t{below(2) + 1} << 32 : 0;
    return high | below(6);
  }
  Filter filter(std::uint32_t calls, std::uint32_t most_values) {
    Filter filter = empty();
    for (std::uint32_t i = 0; i < calls; ++i) {
      Answer answer{.verdict = below(3), .cases = {}};
      for (std::uint32_t n = below(4); n > 0; --n)
        answer.cases.push_back(one_case(most_values));
      filter.calls[below(8) == 0 ? ~below(40) : below(2 * calls)] = answer;
    }
    return filter;
  }

 private:
  Case one_case(std::uint32_t most_values) {
    Case one{.when = {}, .verdict = 10 + below(3)};
    for (std::uint32_t n = below(3) + 1; n > 0; --n) {
      Condition condition{.argument = below(6), .test = static_cast<Test>(below(6)), .values = {}};
      if (condition.test != Test::Null && condition.test != Test::NotNull)
        for (std::uint32_t v = below(most_values) + 1; v > 0; --v)
          condition.values.push_back(below(7));
      one.when.push_back(condition);
    }
    return one;
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("a program answers what its filter says, for random filters and calls") {
  std::size_t wrong = 0, longest = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Generator generator(seed);
    const Filter filter = generator.filter(5 + seed * 2, 4);
    const auto program = compiled(filter);
    longest = std::max(longest, program.size());
    for (int i = 0; i < 4000; ++i) {
      seccomp_data data =
          call(generator.below(10) == 0 ? ~generator.below(42) : generator.below(12 + seed * 4));
      if (generator.below(50) == 0) data.arch = generator.below(3);
      for (auto& argument : data.args)
        argument = generator.argument();
      wrong += policy::run(program, data) != meaning(filter, data) ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
  CHECK(longest > 1000);  // far beyond what one conditional jump reaches
}

TEST_CASE("targets further than a conditional jump reaches are found") {
  Filter filter = empty();
  Condition many{.argument = 0, .test = Test::Is, .values = {}};
  for (std::uint32_t value = 0; value < 1500; ++value)
    many.values.push_back(value * 3);
  filter.calls[7] = {.verdict = 1, .cases = {{.when = {many}, .verdict = 2}}};
  filter.calls[9] = {.verdict = 1, .cases = {}};
  const auto program = compiled(filter);
  CHECK(program.size() < 1600);
  for (std::uint64_t value = 0; value < 4600; ++value) {
    const std::uint32_t wanted = value % 3 == 0 && value < 4500 ? 2 : 1;
    CHECK(policy::run(program, call(7, {value | 1ull << 40})) == wanted);
  }
  CHECK(policy::run(program, call(8)) == kOtherwise);
  CHECK(policy::run(program, call(9)) == 1u);
}

TEST_CASE("neighbours with one answer are one leaf, and equal cases are written once") {
  Filter filter = empty();
  for (std::uint32_t number = 0; number < 300; ++number)
    filter.calls[number] = {.verdict = 1, .cases = {}};
  // arch, foreign, number, one comparison, two answers
  CHECK(compiled(filter).size() == 7);

  const Answer shared{
      .verdict = 1,
      .cases = {{.when = {{.argument = 1, .test = Test::Is, .values = {5}}}, .verdict = 2}}};
  filter.calls[100] = shared;
  const std::size_t once = compiled(filter).size();
  filter.calls[200] = shared;
  CHECK(compiled(filter).size() == once + 2);  // two comparisons more, no second copy of the case
}

TEST_CASE("a filter longer than the kernel takes is refused") {
  Filter filter = empty();
  Condition many{.argument = 0, .test = Test::Is, .values = {}};
  for (std::uint32_t value = 0; value < BPF_MAXINSNS; ++value)
    many.values.push_back(value);
  filter.calls[7] = {.verdict = 1, .cases = {{.when = {many}, .verdict = 2}}};
  const auto program = policy::compile(filter);
  REQUIRE_FALSE(program);
  CHECK(program.error().action.starts_with("compile a syscall filter of 4"));
  CHECK(program.error().action.ends_with("instructions: the kernel takes at most 4096"));
}

TEST_CASE("number 0 and the last number are calls like others") {
  Filter filter = empty();
  filter.calls[0] = {.verdict = 1, .cases = {}};
  filter.calls[0xFFFFFFFF] = {.verdict = 2, .cases = {}};
  const auto program = compiled(filter);
  CHECK(policy::run(program, call(0)) == 1u);
  CHECK(policy::run(program, call(1)) == kOtherwise);
  CHECK(policy::run(program, call(0xFFFFFFFE)) == kOtherwise);
  CHECK(policy::run(program, call(0xFFFFFFFF)) == 2u);
  CHECK(policy::run(compiled(empty()), call(3)) == kOtherwise);
}
