#include "policy/machine.hpp"

#include <cstddef>
#include <cstring>

namespace mayfly::policy {
std::optional<bool> compare(const sock_filter& jump, std::uint32_t word) {
  switch (jump.code) {
    case BPF_JMP | BPF_JEQ | BPF_K:
      return word == jump.k;
    case BPF_JMP | BPF_JGE | BPF_K:
      return word >= jump.k;
    case BPF_JMP | BPF_JGT | BPF_K:
      return word > jump.k;
    case BPF_JMP | BPF_JSET | BPF_K:
      return (word & jump.k) != 0;
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> run(std::span<const sock_filter> program, const seccomp_data& data) {
  std::uint32_t word = 0;
  // Jumps lead forward only, so this ends.
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& now = program[at];
    switch (now.code) {
      case BPF_RET | BPF_K:
        return now.k;
      case BPF_LD | BPF_W | BPF_ABS:
        if (now.k % 4 != 0 || now.k >= sizeof data) return std::nullopt;
        std::memcpy(&word, reinterpret_cast<const std::byte*>(&data) + now.k, sizeof word);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        word &= now.k;
        break;
      case BPF_JMP | BPF_JA:
        at += now.k;
        break;
      default: {
        const auto holds = compare(now, word);
        if (!holds) return std::nullopt;
        at += *holds ? now.jt : now.jf;
      }
    }
  }
  return std::nullopt;
}

}  // namespace mayfly::policy
