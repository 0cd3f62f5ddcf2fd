#include "supervise/denials.hpp"

#include <linux/seccomp.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "policy/refusals.hpp"
#include "policy/stock.hpp"
#include "sys/seccomp.hpp"

namespace mayfly::supervise {
namespace {

constexpr int kMostInATurn = 64;

// libc asks for it before each thread, and takes clone where there is none: nobody wants to know.
bool is_routine(int call, int error) {
  return call == __NR_clone3 && error == ENOSYS;
}

bool is_power_of_ten(std::uint64_t count) {
  while (count % 10 == 0)
    count /= 10;
  return count == 1;
}

std::string name_of(int call) {
  const std::string_view name = policy::call_name(static_cast<std::uint32_t>(call));
  return name.empty() ? "call " + std::to_string(call) : std::string(name);
}

}  // namespace

Result<Denials::Turn> Denials::take(short revents) {
  Turn turn;
  if (revents == 0) return turn;
  // Whoever has the filter is gone.
  if ((revents & POLLIN) == 0) {
    listener_.reset();
    return turn;
  }
  for (int i = 0; i < kMostInATurn && !turn.fatal; ++i) {
    if (!TRY(take_one(turn))) break;
  }
  return turn;
}

// False: none waits.
Result<bool> Denials::take_one(Turn& turn) {
  const std::optional<sys::Notification> asked = TRY(sys::receive_notification(listener_));
  if (!asked) return false;
  const int call = asked->data.nr;
  const int error = policy::refusal(program_, asked->data);
  if (is_routine(call, error)) {
    TRY(sys::answer_notification(listener_, asked->id, error));
    return true;
  }
  ++count_;
  Denial& denial = seen_[{call, error}];
  if (denial.count++ == 0) {
    denial.call = name_of(call);
    denial.number = call;
    denial.error = error;
  }
  const bool fatal = how_ == plan::Refusals::Fatal && error != ENOSYS;
  if (fatal || is_power_of_ten(denial.count)) {
    std::copy(std::begin(asked->data.args), std::end(asked->data.args), denial.args.begin());
    denial.program = sys::program_of(asked->pid);
    turn.told.push_back(denial);
  }
  turn.fatal = fatal;
  if (!fatal) TRY(sys::answer_notification(listener_, asked->id, error));
  return true;
}

std::vector<Denial> Denials::all() const {
  std::vector<Denial> all;
  for (const auto& [key, denial] : seen_)
    all.push_back(denial);
  return all;
}

}  // namespace mayfly::supervise
