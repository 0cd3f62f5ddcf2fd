#include "report/status.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/json_writer.hpp"
#include "report/result.hpp"
#include "report/words.hpp"
#include "supervise/descriptor.hpp"
#include "sys/event.hpp"
#include "sys/mounts.hpp"
#include "sys/process.hpp"

namespace mayfly::report {
namespace {

using supervise::Direction;
using supervise::Endpoint;
using supervise::Moved;

// Lines that may wait for a reader; the result always may.
constexpr std::size_t kMostPending = 1 << 20;

// How long a reader may take for the result.
constexpr std::int64_t kPatience = 2'000'000'000;

constexpr const char* kStatusHint = "use a free number, as in: --status-fd 3 3>status.jsonl";
constexpr const char* kUnreadHint = "read what --status-fd writes to its end, or leave it out";

JsonWriter start_event(const char* name) {
  JsonWriter json;
  json.begin_object().member("v", kVersion).member("ev", name);
  return json;
}

}  // namespace

Result<void> Reporter::take(Reports reports) {
  if (!reports.result_file.empty())
    result_file_ =
        TRY(about({.key = "result"}, ResultFile::open(reports.result_file, reports.working_dir)));
  if (reports.status_fd != -1) {
    TRY(about(
        {.key = "status-fd"},
        supervise::take_descriptor(
            reports.status_fd, Direction::Write,
            "write the status to descriptor " + std::to_string(reports.status_fd), kStatusHint)));
  }
  reports_ = std::move(reports);
  return {};
}

Result<void> Reporter::open(Reports reports) {
  TRY(take(std::move(reports)));
  if (reports_.status_fd == -1 && !result_file_) return {};
  // What a place does not take is an error of writing there, also where a start fails before the
  // supervisor has seen to it.
  TRY(sys::sigaction_set(SIGPIPE, sys::Disposition::Ignore));
  TRY(sys::sigaction_set(SIGXFSZ, sys::Disposition::Ignore));
  if (reports_.status_fd != -1) {
    out_ = Endpoint::borrow(reports_.status_fd, Direction::Write);
  }
  if (!wanted()) return {};
  event(start_event("hello")
            .member("program", "mayfly")
            .member("version", MAYFLY_VERSION)
            .member("pid", ::getpid())
            .end_object()
            .take());
  return {};
}

void Reporter::created(const supervise::Outcome& outcome, const plan::Plan& plan) {
  if (!wanted()) return;
  JsonWriter json = start_event("created");
  json.member("id", outcome.id);
  write_labels(json, outcome);
  json.key("command").begin_array();
  for (const std::string& argument : plan.argv)
    json.value(argument);
  event(json.end_array().end_object().take());
}

void Reporter::started(int pid_inside) {
  if (!wanted()) return;
  event(start_event("started").member("pid_inside", pid_inside).end_object().take());
}

void Reporter::denied(const supervise::Denial& denial) {
  if (!wanted()) return;
  JsonWriter json = start_event("denied");
  write_denial(json, denial);
  json.member("program", denial.program).key("args").begin_array();
  for (const std::uint64_t argument : denial.args)
    json.value(hexadecimal(argument));
  event(json.end_array().end_object().take());
}

void Reporter::ending(supervise::Reason reason) {
  if (!wanted()) return;
  event(start_event("ending").member("reason", reason_name(reason)).end_object().take());
}

// "control" for a line that was obeyed, "control_error" for one that was not.
void Reporter::answered(const supervise::ControlAnswer& answer) {
  if (!wanted()) return;
  JsonWriter json = start_event(answer.error ? "control_error" : "control");
  json.member("line", answer.line).key("cmd");
  if (answer.verb) {
    json.value(spec::verb_name(*answer.verb));
  } else {
    json.null();
  }
  if (answer.error) {
    json.member("error", describe(*answer.error)).member("hint", answer.error->hint);
  } else if (answer.verb == spec::ControlVerb::Extend) {
    json.member("ttl_ns", answer.ttl_ns).member("left_ns", answer.left_ns);
  }
  event(json.end_object().take());
}

int Reporter::backlog() const {
  return pending_.empty() || !wanted() ? -1 : out_.fd();
}

void Reporter::ended(const supervise::Outcome& outcome) {
  if (wanted()) {
    pending_ += result_json(outcome, reports_.policies) + "\n";
    finish(kPatience);
  }
  if (!result_file_) return;
  if (Result<void> written = result_file_->write(outcome, reports_.policies); !written) {
    failure_ = std::move(written).error();
  }
}

void Reporter::event(std::string line) {
  if (pending_.size() + line.size() >= kMostPending) return;
  pending_ += std::move(line) + "\n";
  flush();
}

std::string Reporter::result_to_status() const {
  return "write the result to descriptor " + std::to_string(reports_.status_fd);
}

// As much as the reader takes now. One that is gone, or a full disk, ends the reports.
void Reporter::flush() {
  while (!pending_.empty() && wanted()) {
    const Moved moved = out_.write(pending_);
    if (moved.status == Moved::Status::Later) return;
    if (moved.status == Moved::Status::Failed) {
      errno = moved.error;
      failure_ = sys::errno_error(result_to_status(), "write");
      failure_->hint = sys::write_remedy(moved.error);
    }
    if (moved.status == Moved::Status::End) {
      unread_ = usage_error(result_to_status() + ": its reader is gone", kUnreadHint);
    }
    if (moved.status != Moved::Status::Some) {
      out_.close();
      return;
    }
    pending_.erase(0, moved.bytes);
  }
}

void Reporter::finish(std::int64_t patience_ns) {
  const std::int64_t deadline = sys::boottime_ns() + patience_ns;
  for (flush(); !pending_.empty() && wanted(); flush()) {
    const std::int64_t left = deadline - sys::boottime_ns();
    if (left <= 0) {
      unread_ = usage_error(result_to_status() + ": its reader took nothing for two seconds",
                            kUnreadHint);
      return;
    }
    pollfd reader{.fd = out_.fd(), .events = POLLOUT, .revents = 0};
    if (!sys::ppoll({&reader, 1}, left)) return;
  }
}

}  // namespace mayfly::report
