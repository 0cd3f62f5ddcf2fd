// Result<T>: a value, or an Error that says what was tried, which call failed and what to do.
//
// No exception crosses a function of ours. Library code never prints, exits or aborts: it returns
// an Error, and only src/cli/ puts it before a person. The first cause wins: callers pass an Error
// on as it is, they do not wrap it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace mayfly {

// What kind of end an Error leads to. The exit code is 125 for all of them; the kind decides the
// reason in the result (report::Reason) and the hint's tone.
enum class ErrorKind {
  Usage,            // the request itself is wrong: a flag, a path, a contradiction
  Setup,            // a step of the set-up failed
  HostUnsupported,  // this host lacks or forbids something that every sandbox needs
  Internal,         // a bug of ours, or a peer of ours that broke the protocol
};

// The setting of the request that a failure is about: its key in documents, in static storage.
struct Subject {
  const char* key = "";
  std::optional<std::size_t> item = std::nullopt;  // where its values are a list, which one
  const char* other = nullptr;  // what it contradicts: where that was said, if no document said it
  bool operator==(const Subject&) const = default;
};

// One failure, in the parts that a message needs.
//   action  what we were doing, as a phrase after "cannot": "bind /srv/data on /data read-only"
//   call    the kernel call with its arguments, or empty: mount_setattr("/data", RDONLY)
//   hint    what the user can do about it, one line, or empty
//   about   whose place can be told, if the request was read from a document
struct Error {
  ErrorKind kind = ErrorKind::Internal;
  int sys_errno = 0;  // 0: no errno belongs to this failure
  std::string action;
  std::string call;
  std::string hint;
  std::optional<Subject> about = std::nullopt;

  bool operator==(const Error&) const = default;
};

// "cannot bind …: mount_setattr(…): Operation not permitted (EPERM)", without the hint.
[[nodiscard]] std::string describe(const Error& error);

// The symbolic name of an errno: "EPERM". "errno 4711" where the number has none.
[[nodiscard]] std::string errno_name(int number);

[[nodiscard]] inline Error usage_error(std::string action, std::string hint = {}) {
  return Error{.kind = ErrorKind::Usage,
               .sys_errno = 0,
               .action = std::move(action),
               .call = {},
               .hint = std::move(hint)};
}

[[nodiscard]] inline Error internal_error(std::string action) {
  return Error{.kind = ErrorKind::Internal,
               .sys_errno = 0,
               .action = std::move(action),
               .call = {},
               .hint = {}};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT implicit

  explicit operator bool() const { return state_.index() == 0; }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT implicit

  explicit operator bool() const { return !error_.has_value(); }
  void value() const {}
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

// The same, and a failure is about that setting unless its cause knew better.
template <class T>
[[nodiscard]] Result<T> about(Subject subject, Result<T> result) {
  if (!result && !result.error().about) result.error().about = subject;
  return result;
}

// TRY(expr): the value of a Result, or an early return of its Error.
#define TRY(expr)                                                        \
  __extension__({                                                        \
    auto mayfly_try_result = (expr);                                     \
    if (!mayfly_try_result) return std::move(mayfly_try_result).error(); \
    std::move(mayfly_try_result).value();                                \
  })

}  // namespace mayfly
