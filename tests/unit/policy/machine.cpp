#include "policy/machine.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace mayfly;

namespace {

constexpr sock_filter stmt(int code, std::uint32_t value) {
  return {.code = static_cast<std::uint16_t>(code), .jt = 0, .jf = 0, .k = value};
}
constexpr sock_filter jump(int code, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return {
      .code = static_cast<std::uint16_t>(BPF_JMP | BPF_K | code), .jt = yes, .jf = no, .k = value};
}
constexpr sock_filter load(std::size_t offset) {
  return stmt(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter answer(std::uint32_t value) {
  return stmt(BPF_RET | BPF_K, value);
}

std::optional<std::uint32_t> run_with_nr(const std::vector<sock_filter>& program, int number) {
  seccomp_data data{};
  data.nr = number;
  return policy::run(program, data);
}

}  // namespace

TEST_CASE("run compares as the kernel does, without signs") {
  const auto compare = [](int code, int number, std::uint32_t value) {
    return run_with_nr(
        {load(offsetof(seccomp_data, nr)), jump(code, value, 0, 1), answer(1), answer(0)}, number);
  };
  CHECK(compare(BPF_JEQ, 5, 5) == 1u);
  CHECK(compare(BPF_JEQ, 6, 5) == 0u);
  CHECK(compare(BPF_JGE, 5, 5) == 1u);
  CHECK(compare(BPF_JGE, 4, 5) == 0u);
  CHECK(compare(BPF_JGE, -1, 5) == 1u);
  CHECK(compare(BPF_JGT, 5, 5) == 0u);
  CHECK(compare(BPF_JGT, 6, 5) == 1u);
  CHECK(compare(BPF_JSET, 6, 2) == 1u);
  CHECK(compare(BPF_JSET, 5, 2) == 0u);
}

TEST_CASE("run loads both halves of each argument, masks and jumps") {
  seccomp_data data{};
  data.args[5] = 0x11223344'55667788;
  const auto word = [&](std::size_t offset, std::uint32_t wanted) {
    const std::vector<sock_filter> program = {load(offset), stmt(BPF_JMP | BPF_JA, 1),
                                              answer(9),    jump(BPF_JEQ, wanted, 0, 1),
                                              answer(1),    answer(0)};
    return policy::run(program, data);
  };
  CHECK(word(offsetof(seccomp_data, args) + 40, 0x55667788) == 1u);
  CHECK(word(offsetof(seccomp_data, args) + 44, 0x11223344) == 1u);
  CHECK(run_with_nr({load(0), stmt(BPF_ALU | BPF_AND | BPF_K, 0xF0), jump(BPF_JEQ, 0x30, 0, 1),
                     answer(1), answer(0)},
                    0x35) == 1u);
}

TEST_CASE("run does not answer for a program that it cannot follow") {
  CHECK_FALSE(run_with_nr({}, 0));
  CHECK_FALSE(run_with_nr({load(0)}, 0));
  CHECK_FALSE(run_with_nr({jump(BPF_JEQ, 0, 5, 5), answer(1)}, 0));
  CHECK_FALSE(run_with_nr({stmt(BPF_JMP | BPF_JA, 0xFFFFFFFF), answer(1)}, 0));
  CHECK_FALSE(run_with_nr({load(sizeof(seccomp_data)), answer(1)}, 0));
  CHECK_FALSE(run_with_nr({load(2), answer(1)}, 0));
  CHECK_FALSE(run_with_nr({stmt(BPF_RET | BPF_A, 0)}, 0));
  CHECK_FALSE(run_with_nr({stmt(BPF_ALU | BPF_RSH | BPF_X, 0), answer(1)}, 0));
}
