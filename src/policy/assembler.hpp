// Assembler: writes a classic BPF program from its end to its beginning.
//
// Classic BPF jumps forward only, so whoever writes backwards knows every target already. It also
// makes sharing free: an instruction that exists with the same targets is not written again, and so
// equal passages become one.
#pragma once

#include <linux/filter.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace mayfly::policy {

class Assembler {
 public:
  // An instruction that was written, as its distance from the program's end.
  using Label = std::size_t;

  // Ends the program with this answer.
  [[nodiscard]] Label answer(std::uint32_t verdict);
  // Loads a 32-bit word of seccomp_data, then goes on at `next`.
  [[nodiscard]] Label load(std::uint32_t offset, Label next);
  // Compares the loaded word by BPF_JEQ, BPF_JGE, BPF_JGT or BPF_JSET.
  [[nodiscard]] Label branch(std::uint16_t comparison, std::uint32_t value, Label yes, Label no);

  // The program in the kernel's order. It begins at `entry`.
  [[nodiscard]] std::vector<sock_filter> finish(Label entry);

 private:
  struct Instruction {
    std::uint16_t code = 0;
    std::uint32_t value = 0;
    Label yes = 0, no = 0;  // branches only
    auto operator<=>(const Instruction&) const = default;
  };

  // Writes an instruction. `meant` is what it does, the key under which it is found again; what is
  // written may go by way of stepping stones.
  Label put(const Instruction& written, const Instruction& meant);
  Label jump(Label target);
  // `target`, or a stepping stone to it that the 8-bit offset of the next instruction can reach.
  Label reach(Label target);

  std::vector<Instruction> backwards_;
  std::map<Instruction, Label> latest_;  // by meaning; the one nearest to the beginning
};

}  // namespace mayfly::policy
