// Status: what happens to a sandbox, as JSON lines for a program that started us (--status-fd).
//
//   {"v":1,"ev":"hello",…}  created  started  ending  result
//
// Exactly one result, always last. A reader that is slow or gone never stalls the sandbox: lines
// wait in a bounded buffer, and only the result is waited for, for a bounded time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "report/result.hpp"
#include "supervise/endpoint.hpp"
#include "supervise/supervisor.hpp"

namespace mayfly::report {

// Where reports go. Without either it does nothing and costs nothing.
struct Reports {
  int status_fd = -1;       // -1: none
  std::string result_file;  // empty: none
  Policies policies = {};
  std::string working_dir = {};  // where what lies in it is looked for from
};

class Reporter final : public supervise::Observer {
 public:
  // Once, before the run: checks both places and says hello. Refused: a status descriptor that is
  // one of the task's own (0-2), is closed or not open for writing. It becomes close-on-exec.
  [[nodiscard]] Result<void> open(Reports reports);
  // The same checks, and no hello.
  [[nodiscard]] Result<void> take(Reports reports);

  void created(const supervise::Outcome& outcome, const plan::Plan& plan) override;
  void started(int pid_inside) override;
  void denied(const supervise::Denial& denial) override;
  void ending(supervise::Reason reason) override;
  void answered(const supervise::ControlAnswer& answer) override;
  [[nodiscard]] int backlog() const override;
  void write_backlog() override { flush(); }
  void ended(const supervise::Outcome& outcome) override;

  // Why the result could not be written to its file or to the status descriptor, if so. Ask after
  // ended().
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  // Nobody read the status to its end. That is up to the reader, and no failure of ours.
  [[nodiscard]] const std::optional<Error>& unread() const { return unread_; }

 private:
  [[nodiscard]] bool wanted() const { return static_cast<bool>(out_); }
  void event(std::string line);
  void flush();
  void finish(std::int64_t patience_ns);
  [[nodiscard]] std::string result_to_status() const;

  Reports reports_;
  std::optional<ResultFile> result_file_;
  supervise::Endpoint out_;
  std::string pending_;
  std::optional<Error> failure_, unread_;
};

}  // namespace mayfly::report
