#include "fake_init.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "supervise/signals.hpp"
#include "support.hpp"
#include "sys/event.hpp"
#include "sys/process.hpp"

namespace mayfly::test {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class Recorder final : public supervise::WatchListener {
 public:
  void started(int pid_inside) override { add("started " + std::to_string(pid_inside)); }
  void ending(supervise::Reason reason) override {
    add("ending " + std::string(supervise::reason_name(reason)));
  }
  void chores() override { add("chores"); }
  void answered(const supervise::ControlAnswer& answer) override {
    add("line " + std::to_string(answer.line) + ": " +
        (answer.error ? describe(*answer.error) : std::string("done")));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add(const std::string& what) { text_ += (text_.empty() ? "" : ", ") + what; }
  std::string text_;
};

std::string describe_end(const supervise::End& end) {
  std::string text = std::string(supervise::reason_name(end.reason)) + " " +
                     std::to_string(supervise::exit_code(end.reason, end.detail));
  if (end.signal) text += " signal=" + std::to_string(*end.signal);
  if (end.started) text += " started";
  if (!end.init) text += " not-reaped";
  if (!end.clean) text += " unclean: " + end.unclean_why;
  if (end.error) text += " error: " + describe(*end.error);
  return text;
}

}  // namespace

void Script::say(launch::Message message) {
  say_bytes(&message, sizeof message);
}

void Script::say_bytes(const void* bytes, std::size_t size) {
  if (::send(socket_, bytes, size, MSG_NOSIGNAL) < 0) ::_exit(launch::kInitOrphan);
}

int Script::next_signal() {
  launch::Message message;
  if (::recv(socket_, &message, sizeof message, 0) != sizeof message) return 0;
  return message.kind == launch::Kind::Signal ? static_cast<int>(message.value) : -1;
}

launch::Message Script::next() {
  launch::Message message;
  if (::recv(socket_, &message, sizeof message, 0) != sizeof message) ::_exit(1);
  return message;
}

void Script::signal_supervisor(int signal) {
  ::kill(::getppid(), signal);
}

void Script::hang() {
  for (;;)
    ::pause();
}

void Script::ended(int code, int status) {
  say({.kind = launch::Kind::Exited, .index = static_cast<std::uint32_t>(code), .value = status});
}

std::string watch_here(const Scene& scene, const std::function<int(Script&)>& script) {
  Result<Fd> signals = supervise::take_signals();
  int ends[2];
  if (!signals || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return "?";
  supervise::Relay relay;
  if (scene.relay) scene.relay(relay);
  launch::Sandbox sandbox;
  sandbox.socket = Fd(ends[0]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    Script actor(ends[1]);
    ::_exit(script(actor));
  }
  ::close(ends[1]);
  for (const int fd : scene.task_ends)
    ::close(fd);
  sandbox.init_pid = pid;
  sandbox.init_pidfd = sys::pidfd_open(pid).value();
  if (!scene.cgroup.empty()) {
    sandbox.cgroup = Fd(::open(scene.cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  Fd caller;
  if (scene.caller != 0) caller = sys::pidfd_open(scene.caller).value();

  const std::int64_t now = sys::boottime_ns();
  supervise::WatchRequest request;
  request.sandbox = &sandbox;
  request.relay = &relay;
  request.signals = &*signals;
  request.caller = &caller;
  request.setup_deadline = now + scene.setup_ms * kMs;
  if (scene.ttl_ms != 0) request.ttl_deadline = now + scene.ttl_ms * kMs;
  request.grace_ns = scene.grace_ms * kMs;
  request.teardown_ns = scene.teardown_ms * kMs;
  if (scene.chores_ms != 0) request.chores_at = now + scene.chores_ms * kMs;
  request.linger = scene.linger;
  request.keep_running = scene.keep_running;
  request.no_cgroup_why = "no cgroup here";
  request.spawned = now;
  if (scene.idle_ms != 0) request.idle_ns = scene.idle_ms * kMs;
  supervise::Meter meter(&sandbox.cgroup, Fd());
  if (scene.cpu_limit_us != 0) {
    request.meter = &meter;
    request.cpu_limit_ns = scene.cpu_limit_us * 1000;
  }
  if (scene.ttl_max_ms != 0) request.ttl_max_deadline = now + scene.ttl_max_ms * kMs;
  sys::Pipe control_pipe = sys::pipe().value();
  std::optional<supervise::Control> control;
  if (!scene.commands.empty() || !scene.control_stays) {
    control.emplace(supervise::Endpoint::borrow_as_it_is(control_pipe.read_end.get()));
    const auto size = static_cast<ssize_t>(scene.commands.size());
    if (::write(control_pipe.write_end.get(), scene.commands.data(), scene.commands.size()) !=
        size) {
      return "?";
    }
    if (!scene.control_stays) control_pipe.write_end.reset();
    request.control = &*control;
  }
  Recorder recorder;
  const supervise::End end = supervise::Watch(std::move(request), recorder).run();
  return describe_end(end) + " [" + recorder.text() + "]";
}

std::string watch(const Scene& scene, const std::function<int(Script&)>& script) {
  return in_child([&] { return watch_here(scene, script); });
}

}  // namespace mayfly::test
