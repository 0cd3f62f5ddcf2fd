#include "policy/filter.hpp"

#include <linux/seccomp.h>

#include <cstddef>
#include <string>
#include <utility>

#include "policy/assembler.hpp"

namespace mayfly::policy {
namespace {

using Label = Assembler::Label;

// The halves of an argument in seccomp_data. Both architectures are little-endian.
std::uint32_t low_half(unsigned argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * 8);
}
std::uint32_t high_half(unsigned argument) {
  return low_half(argument) + 4;
}

Label any_of(Assembler& assembler, const std::vector<std::uint32_t>& values, Label yes, Label no) {
  Label next = no;
  for (auto value = values.rbegin(); value != values.rend(); ++value)
    next = assembler.branch(BPF_JEQ, *value, yes, next);
  return next;
}

std::uint32_t union_of(const std::vector<std::uint32_t>& bits) {
  std::uint32_t all = 0;
  for (const std::uint32_t bit : bits)
    all |= bit;
  return all;
}

Label condition(Assembler& assembler, const Condition& condition, Label yes, Label no) {
  const std::uint32_t low = low_half(condition.argument), high = high_half(condition.argument);
  const auto null = [&](Label if_null, Label if_not) {
    const Label low_test = assembler.load(low, assembler.branch(BPF_JEQ, 0, if_null, if_not));
    return assembler.load(high, assembler.branch(BPF_JEQ, 0, low_test, if_not));
  };
  switch (condition.test) {
    case Test::Is:
      return assembler.load(low, any_of(assembler, condition.values, yes, no));
    case Test::IsNot:
      return assembler.load(low, any_of(assembler, condition.values, no, yes));
    case Test::Has:
      return assembler.load(low, assembler.branch(BPF_JSET, union_of(condition.values), yes, no));
    case Test::HasBeyond: {
      const std::uint32_t beyond = ~union_of(condition.values);
      const Label low_test = assembler.load(low, assembler.branch(BPF_JSET, beyond, yes, no));
      return assembler.load(high, assembler.branch(BPF_JEQ, 0, low_test, yes));
    }
    case Test::Null:
      return null(yes, no);
    case Test::NotNull:
      return null(no, yes);
  }
  return no;
}

Label answer(Assembler& assembler, const Answer& answer) {
  Label next = assembler.answer(answer.verdict);
  for (auto one = answer.cases.rbegin(); one != answer.cases.rend(); ++one) {
    Label holds = assembler.answer(one->verdict);
    for (auto when = one->when.rbegin(); when != one->when.rend(); ++when)
      holds = condition(assembler, *when, holds, next);
    next = holds;
  }
  return next;
}

// The numbers from `first` up to the next run's first are answered alike.
struct Run {
  std::uint32_t first = 0;
  Label target = 0;
};

class Runs {
 public:
  explicit Runs(Assembler& assembler) : assembler_(assembler) {}

  void append(std::uint64_t first, const Answer& what) {
    const Label target = label_of(what);
    if (runs_.empty() || runs_.back().target != target)
      runs_.push_back({.first = static_cast<std::uint32_t>(first), .target = target});
  }
  [[nodiscard]] const std::vector<Run>& get() const { return runs_; }

 private:
  // One label for each different answer, however many calls are given it.
  Label label_of(const Answer& what) {
    for (const auto& [known, label] : written_)
      if (known == what) return label;
    return written_.emplace_back(what, answer(assembler_, what)).second;
  }

  Assembler& assembler_;
  std::vector<std::pair<Answer, Label>> written_;
  std::vector<Run> runs_;
};

// The search for a call's number among the runs [from, to), with the number loaded.
Label search_tree(Assembler& assembler, const std::vector<Run>& runs, std::size_t from,
                  std::size_t to) {
  if (to - from == 1) return runs[from].target;
  const std::size_t middle = (from + to) / 2;
  const Label above = search_tree(assembler, runs, middle, to);
  const Label below = search_tree(assembler, runs, from, middle);
  return assembler.branch(BPF_JGE, runs[middle].first, above, below);
}

// The kernel interprets the whole filter once for each call number when it is loaded, so how soon a
// number is found decides what loading costs. Neighbours with one answer are one run, and a
// balanced tree finds the run. (A tree of least cost for these very numbers was no faster in
// measurements.)
Label search(Assembler& assembler, const Filter& filter) {
  const Answer otherwise{.verdict = filter.otherwise, .cases = {}};
  Runs runs(assembler);
  std::uint64_t next = 0;
  for (const auto& [number, what] : filter.calls) {
    if (number != next) runs.append(next, otherwise);
    runs.append(number, what);
    next = std::uint64_t{number} + 1;
  }
  if (next <= UINT32_MAX) runs.append(next, otherwise);
  return search_tree(assembler, runs.get(), 0, runs.get().size());
}

}  // namespace

Result<std::vector<sock_filter>> compile(const Filter& filter) {
  Assembler assembler;
  const Label foreign = assembler.answer(filter.foreign);
  const Label ours = assembler.load(offsetof(seccomp_data, nr), search(assembler, filter));
  const Label which = assembler.branch(BPF_JEQ, filter.audit_arch, ours, foreign);
  std::vector<sock_filter> program =
      assembler.finish(assembler.load(offsetof(seccomp_data, arch), which));
  if (program.size() > BPF_MAXINSNS)
    return usage_error("compile a syscall filter of " + std::to_string(program.size()) +
                           " instructions: the kernel takes at most " +
                           std::to_string(BPF_MAXINSNS),
                       "name fewer calls, or fewer values in their rules");
  return program;
}

}  // namespace mayfly::policy
