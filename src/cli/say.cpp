#include "cli/say.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/text.hpp"
#include "supervise/endpoint.hpp"
#include "sys/entries.hpp"

namespace mayfly::cli {
namespace {

bool has_output = true;

}  // namespace

// Messages quote what others wrote: files, paths, command lines.
std::string complaint(const Error& error) {
  std::string text = "mayfly: " + printable(describe(error)) + "\n";
  if (!error.hint.empty()) text += "hint: " + printable(error.hint) + "\n";
  return text;
}

// A reader that does not read must not hold us: what it has not taken in two seconds is lost.
void say(std::string_view text, Patience patience) {
  if (text.empty()) return;
  constexpr int kPatienceMs = 2000;
  constexpr std::size_t kPiece = 4096;  // PIPE_BUF
  int tries = 100;                      // of one that is ready and takes nothing
  auto out = supervise::Endpoint::borrow(STDERR_FILENO, supervise::Direction::Write);
  while (!text.empty()) {
    pollfd reader = {.fd = out.fd(), .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&reader, 1, patience == Patience::None ? 0 : kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    using enum supervise::Moved::Status;
    const supervise::Moved moved = out.write(text.substr(0, kPiece));
    if (moved.status == Some) {
      text.remove_prefix(moved.bytes);
    } else if (moved.status != Later || --tries == 0) {
      return;
    }
  }
}

void miss_standard_output() {
  has_output = false;
}

int print(std::string_view text) {
  if (has_output && sys::write_whole(STDOUT_FILENO, text)) return 0;
  const int failed = has_output ? errno : EBADF;
  say(complaint({.kind = ErrorKind::Setup,
                 .sys_errno = failed,
                 .action = "write to standard output",
                 .call = {},
                 .hint = {}}));
  return kFailed;
}

}  // namespace mayfly::cli
