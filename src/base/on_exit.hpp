// OnExit: runs a function when the scope ends, unless it was cancelled.
#pragma once

#include <utility>

namespace mayfly {

template <class F>
class [[nodiscard]] OnExit {
 public:
  explicit OnExit(F function) : function_(std::move(function)) {}
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;
  ~OnExit() {
    if (armed_) function_();
  }
  void cancel() { armed_ = false; }

 private:
  F function_;
  bool armed_ = true;
};

}  // namespace mayfly
