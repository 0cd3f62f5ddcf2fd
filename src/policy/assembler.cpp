#include "policy/assembler.hpp"

namespace mayfly::policy {
namespace {

constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kJump = BPF_JMP | BPF_JA;

// The furthest target that a branch may name: 255 by the format, less the stepping stone that its
// other target may still put between.
constexpr std::size_t kReach = 254;

}  // namespace

Assembler::Label Assembler::answer(std::uint32_t verdict) {
  const Instruction wanted{.code = kReturn, .value = verdict, .yes = 0, .no = 0};
  const auto known = latest_.find(wanted);
  return known != latest_.end() ? known->second : put(wanted, wanted);
}

Assembler::Label Assembler::load(std::uint32_t offset, Label next) {
  const Instruction wanted{.code = kLoad, .value = offset, .yes = next, .no = next};
  if (const auto known = latest_.find(wanted); known != latest_.end()) return known->second;
  if (next + 1 != backwards_.size()) jump(next);  // a load goes on with the very next instruction
  return put(wanted, wanted);
}

Assembler::Label Assembler::branch(std::uint16_t comparison, std::uint32_t value, Label yes,
                                   Label no) {
  if (yes == no) return yes;
  const Instruction wanted{.code = static_cast<std::uint16_t>(BPF_JMP | BPF_K | comparison),
                           .value = value,
                           .yes = yes,
                           .no = no};
  if (const auto known = latest_.find(wanted); known != latest_.end()) return known->second;
  Instruction written = wanted;
  written.yes = reach(yes);
  written.no = reach(no);
  return put(written, wanted);
}

Assembler::Label Assembler::put(const Instruction& written, const Instruction& meant) {
  const Label label = backwards_.size();
  backwards_.push_back(written);
  latest_[meant] = label;
  return label;
}

Assembler::Label Assembler::jump(Label target) {
  const Instruction wanted{.code = kJump, .value = 0, .yes = target, .no = target};
  return put(wanted, wanted);
}

Assembler::Label Assembler::reach(Label target) {
  const auto near = [&](Label label) { return backwards_.size() - label - 1 < kReach; };
  if (near(target)) return target;
  // The stepping stone is a jump; in place of a return it is that return once more. One that an
  // earlier branch needed may serve again.
  const Instruction& there = backwards_[target];
  const Instruction stone =
      there.code == kReturn ? there
                            : Instruction{.code = kJump, .value = 0, .yes = target, .no = target};
  const auto known = latest_.find(stone);
  return known != latest_.end() && near(known->second) ? known->second : put(stone, stone);
}

std::vector<sock_filter> Assembler::finish(Label entry) {
  if (entry + 1 != backwards_.size()) jump(entry);
  std::vector<sock_filter> program;
  program.reserve(backwards_.size());
  for (Label at = backwards_.size(); at-- > 0;) {
    const Instruction& from = backwards_[at];
    sock_filter to{.code = from.code, .jt = 0, .jf = 0, .k = from.value};
    if (from.code == kJump) {
      to.k = static_cast<std::uint32_t>(at - from.yes - 1);
    } else if (from.code != kReturn && from.code != kLoad) {
      to.jt = static_cast<std::uint8_t>(at - from.yes - 1);
      to.jf = static_cast<std::uint8_t>(at - from.no - 1);
    }
    program.push_back(to);
  }
  return program;
}

}  // namespace mayfly::policy
