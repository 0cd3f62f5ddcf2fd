#include "policy/merge.hpp"

#include <linux/seccomp.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "policy/groups.hpp"
#include "policy/machine.hpp"

namespace mayfly::policy {
namespace {

constexpr std::uint16_t kAnswer = BPF_RET | BPF_K;

// As the kernel compares them (kernel/seccomp.c): the smaller is the more restrictive, with signs,
// since that of KILL_PROCESS is set.
std::int32_t rank(std::uint32_t answer) {
  return static_cast<std::int32_t>(answer & SECCOMP_RET_ACTION_FULL);
}

// Of two alike the newer filter's counts.
std::uint32_t stricter(std::uint32_t newer, std::uint32_t older) {
  return rank(older) < rank(newer) ? older : newer;
}

bool is_computed(const sock_filter& one) {
  return BPF_CLASS(one.code) == BPF_RET && one.code != kAnswer;
}

// What a filter may read of a call, of which some is not known beforehand.
class Look {
 public:
  Look(std::span<const sock_filter> program, const SystemCall& call) : program_(program) {
    data_.nr = static_cast<int>(call.number);
    data_.arch = audit_arch();
    std::copy(call.args.begin(), call.args.end(), data_.args);
  }

  // Whether every way through the program, from `at` on, ends in an answer that lets the call pass.
  bool passes(std::size_t at = 0, std::optional<std::uint32_t> word = std::nullopt) {
    constexpr std::size_t kMostSteps = 100'000;
    for (; at < program_.size() && ++steps_ < kMostSteps; ++at) {
      const sock_filter& now = program_[at];
      if (now.code == kAnswer) return rank(now.k) >= rank(SECCOMP_RET_LOG);
      if (now.code == (BPF_JMP | BPF_JA)) {
        at += now.k;
      } else if (now.code == (BPF_LD | BPF_W | BPF_ABS)) {
        word = known(now.k);
      } else if (now.code == (BPF_ALU | BPF_AND | BPF_K)) {
        if (word) word = *word & now.k;
      } else if (BPF_CLASS(now.code) != BPF_JMP) {
        return false;  // no filter of ours or libseccomp's has it
      } else {
        const std::optional<bool> holds = word ? compare(now, *word) : std::nullopt;
        if (!holds && !passes(at + 1 + now.jf, word)) return false;
        at += holds.value_or(true) ? now.jt : now.jf;
      }
    }
    return false;
  }

 private:
  std::optional<std::uint32_t> known(std::size_t offset) const {
    const std::size_t args = offsetof(seccomp_data, args);
    if (offset % 4 != 0 || offset + 4 > sizeof data_) return std::nullopt;
    if (offset >= args && data_.args[(offset - args) / 8] == 0) return std::nullopt;
    if (offset >= offsetof(seccomp_data, instruction_pointer) && offset < args) return std::nullopt;
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(&data_) + offset, sizeof word);
    return word;
  }

  std::span<const sock_filter> program_;
  seccomp_data data_ = {};
  std::size_t steps_ = 0;
};

}  // namespace

std::optional<std::vector<sock_filter>> merged(std::span<const sock_filter> newer,
                                               std::span<const sock_filter> older) {
  std::vector<sock_filter> program(newer.begin(), newer.end());
  if (std::any_of(newer.begin(), newer.end(), is_computed)) return std::nullopt;
  // In the place of each answer a jump to a copy of the older filter that answers no less strictly.
  std::map<std::uint32_t, std::size_t> copies;  // by answer, where it begins
  for (std::size_t at = 0; at < newer.size(); ++at) {
    const sock_filter answer = newer[at];
    if (answer.code != kAnswer || answer.k == SECCOMP_RET_KILL_PROCESS) continue;
    const auto [copy, is_new] = copies.try_emplace(answer.k, program.size());
    for (std::size_t i = 0; is_new && i < older.size(); ++i) {
      program.push_back(older[i]);
      if (older[i].code == kAnswer) program.back().k = stricter(answer.k, older[i].k);
    }
    const auto distance = static_cast<std::uint32_t>(copy->second - at - 1);
    program[at] = {.code = BPF_JMP | BPF_JA, .jt = 0, .jf = 0, .k = distance};
  }
  if (program.size() > BPF_MAXINSNS) return std::nullopt;
  return program;
}

std::string first_endangered(std::span<const sock_filter> program,
                             std::span<const SystemCall> calls) {
  for (const SystemCall& call : calls) {
    if (!Look(program, call).passes()) return std::string(call_name(call.number));
  }
  return {};
}

Told with_told(Programs programs, std::span<const sock_filter> stock) {
  Told told{.programs = std::move(programs)};
  std::vector<Program> alone;
  std::vector<sock_filter> init = told.programs.init.code;
  if (init.empty()) init.assign(stock.begin(), stock.end());
  for (Program& program : told.programs.task) {
    const std::string endangered = first_endangered(program.code, init_calls());
    // None gets below an older one that stays where it is: of two errnos the newer one's counts.
    const bool movable = alone.empty() && endangered.empty();
    auto both = movable ? merged(program.code, init) : std::nullopt;
    if (both) {
      init = *std::move(both);
      continue;
    }
    told.is_complete = false;
    if (told.untold_call.empty()) told.untold_call = endangered;
    alone.push_back(std::move(program));
  }
  if (alone.size() < told.programs.task.size()) told.programs.init.code = std::move(init);
  told.programs.task = std::move(alone);
  return told;
}

}  // namespace mayfly::policy
