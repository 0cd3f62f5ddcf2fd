// Relay: carries bytes between descriptors that the task must not hold (terminals, other devices,
// regular files without Landlock) and pipes, or the terminal of its own, that it may hold. Driven
// by the event loop; never blocks, holds at most 32 KiB in each direction, asks poll only about
// what it can act on. What passes through it is counted, and can be limited.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "supervise/endpoint.hpp"

namespace mayfly::supervise {

// Whoever writes to the same screen as the task: told before and after output goes there.
class OutputListener {
 public:
  OutputListener() = default;
  OutputListener(const OutputListener&) = delete;
  OutputListener& operator=(const OutputListener&) = delete;
  virtual ~OutputListener() = default;
  virtual void before_output() = 0;
  virtual void after_output(char last) = 0;
};

// The name of the one output that carries the other, too.
inline constexpr std::string_view kBothOutputs = "stdout and stderr";

class Relay {
 public:
  // From the caller to the task. The pipe closes once the source ended and all was delivered. A
  // FIFO that is opened as non-blocking is read unasked: poll does not tell that it never had a
  // writer, and so is at its end.
  void add_input(Endpoint source, Endpoint pipe, std::string name);
  // From the task to the caller. If the caller's reader goes away, the pipe closes, so that the
  // task gets SIGPIPE as it would without us.
  void add_output(Endpoint pipe, Endpoint sink, std::string name);
  // What was added last serves for more than it seemed to.
  void rename_last(std::string_view name) { streams_.back().name = name; }
  // Both, through the master of the task's terminal. The end of the source becomes an end of file
  // as one that is typed; if the caller's reader goes away the terminal is hung up. What was typed
  // waits for open_terminal(): without a foreground job a Ctrl-C would be lost.
  void add_terminal(Endpoint source, Endpoint sink, Fd master, Fd master_copy);

  // At most so many bytes of output are delivered, all outputs together: exactly so many, if there
  // are more.
  void limit_output(std::uint64_t bytes) { limit_left_ = bytes; }
  // The terminal `fd` is where messages of ours go, too: the outputs that there are and that go to
  // it are minded. listener: borrowed, or null.
  void mind_screen(int fd, OutputListener* listener);
  // The task has been executed, in the foreground of its terminal.
  void open_terminal();

  // What to wait for: two entries for each stream that is open.
  void add_polls(std::vector<pollfd>& polls);
  // The entries that add_polls made, after the wait. now_ns: CLOCK_BOOTTIME.
  void handle(std::span<const pollfd> polls, std::int64_t now_ns);
  // When to call handle() although no descriptor is ready.
  [[nodiscard]] std::optional<std::int64_t> next_try_ns() const;

  // No more input for the task: it reads the end of file. False: nothing is relayed to it.
  bool end_input();
  // The task is gone: nobody reads its input any more.
  void stop_input();
  // What was taken for the task and has not gone into its pipe, in bytes.
  [[nodiscard]] std::size_t undelivered_input() const;
  // True once every output has delivered all that there was.
  [[nodiscard]] bool finished() const;
  // There was more output than the limit allows; or there will be, by what waits to be read.
  [[nodiscard]] bool is_over_limit() const { return over_limit_; }
  [[nodiscard]] bool will_be_over_limit() const;
  // When output was last taken or delivered, CLOCK_BOOTTIME; 0: never.
  [[nodiscard]] std::int64_t last_output_ns() const { return last_output_ns_; }
  // What was delivered of the output of this name; nullopt where it is not relayed.
  [[nodiscard]] std::optional<std::uint64_t> delivered(std::string_view name) const;
  // The last byte on the screen that is minded was no newline; an output to it waits, since it
  // takes nothing.
  [[nodiscard]] bool is_in_line() const { return in_line_; }
  [[nodiscard]] bool is_screen_stuck() const;
  // What was lost, or empty: bytes that could not be delivered, and why. To be asked at the end.
  [[nodiscard]] std::string losses() const;

 private:
  enum class Flow { ToTask, FromTask };

  // Open as long as it has a source: both ends close together, once nothing waits any more.
  struct Stream {
    Flow flow = Flow::FromTask;
    Endpoint source, sink;
    std::string name;       // "stdout", for losses()
    bool terminal = false;  // the task's end is a terminal
    bool ending = false;    // nothing more is taken
    bool end_typed = false;
    bool held = false;                       // typed before the task was executed
    bool to_screen = false;                  // the caller's end of an output is a terminal
    bool minded = false;                     // … the one of mind_screen()
    std::optional<std::size_t> polled_at{};  // its entries among those of add_polls
    std::unique_ptr<char[]> buffer;
    std::size_t begin = 0, end = 0;  // what waits in the buffer
    std::int64_t pause_until = 0;    // 0: not paused
    std::uint64_t delivered = 0;
    std::size_t undelivered = 0;  // what waited when it closed
    char last = '\0';             // of what was delivered
    int error = 0;                // why bytes were lost, other than that their reader is gone

    [[nodiscard]] bool waiting() const { return begin != end; }
    void need_buffer();
    [[nodiscard]] Moved take(std::size_t most);
    void finish();
    void type_end_of_file();
    void spare_returns();
    void close();
  };

  void fill(Stream& stream, std::int64_t now_ns);
  void drain(Stream& stream, std::int64_t now_ns);
  void drain_or_pause(Stream& stream, std::int64_t now_ns);
  [[nodiscard]] std::size_t accept(std::size_t bytes);
  void hang_up_terminals();

  std::vector<Stream> streams_;
  std::optional<std::uint64_t> limit_left_;
  bool over_limit_ = false;
  OutputListener* listener_ = nullptr;
  bool in_line_ = false;
  std::int64_t last_output_ns_ = 0;
};

}  // namespace mayfly::supervise
