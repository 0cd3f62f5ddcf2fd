#include "policy/refusals.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <cerrno>

#include "policy/machine.hpp"
#include "policy/stock.hpp"

using namespace mayfly;
using namespace mayfly::policy;

namespace {

seccomp_data call_of(int number) {
  seccomp_data data = {};
  data.nr = number;
#if defined(__x86_64__)
  data.arch = AUDIT_ARCH_X86_64;
#else
  data.arch = AUDIT_ARCH_AARCH64;
#endif
  return data;
}

constexpr Stock kStocks[] = {Stock::Default, Stock::Live, Stock::Nesting, Stock::NestingLive};

}  // namespace

TEST_CASE("an asking filter asks exactly where the other refuses, for every call") {
  for (const Stock stock : kStocks) {
    const auto program = stock_filter(stock);
    const std::vector<sock_filter> asks = asking(program);
    REQUIRE(asks.size() == program.size());
    for (int number = -1; number < 1100; ++number) {
      const seccomp_data data = call_of(number);
      const std::uint32_t before = run(program, data).value();
      const std::uint32_t after = run(asks, data).value();
      const bool refuses = (before & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO &&
                           (before & SECCOMP_RET_DATA) != 0;
      CAPTURE(number);
      CHECK(after == (refuses ? SECCOMP_RET_USER_NOTIF : before));
    }
  }
}

TEST_CASE("a call of another architecture is no question") {
  seccomp_data data = call_of(__NR_read);
  data.arch = AUDIT_ARCH_I386;
  const auto program = stock_filter(Stock::Default);
  CHECK(run(asking(program), data) == run(program, data));
}

TEST_CASE("a refused call has its errno, and a program that says nothing means EPERM") {
  const auto program = stock_filter(Stock::Default);
  CHECK(refusal(program, call_of(__NR_mount)) == EPERM);
  CHECK(refusal(program, call_of(__NR_io_uring_setup)) == ENOSYS);
  CHECK(refusal({}, call_of(__NR_mount)) == EPERM);
}

TEST_CASE("calls have names") {
  CHECK(call_name(__NR_mount) == "mount");
  CHECK(call_name(__NR_read) == "read");
  CHECK(call_name(451) == "cachestat");
  CHECK(call_name(1023).empty());
  CHECK(call_name(0xFFFFFFFF).empty());
}
