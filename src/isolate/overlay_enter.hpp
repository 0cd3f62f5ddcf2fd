// The new root and the overlays in it, and what all kinds of mounts attach with.
// Part of the child half (see mounts.hpp).
#pragma once

#include "isolate/mounts.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::mounts {

inline constexpr unsigned long kPlain = sys::kMountAttrNosuid | sys::kMountAttrNodev;

// An open descriptor of the child half, closed at the end of the scope.
class Held {
 public:
  explicit Held(long answer) noexcept : fd_(static_cast<int>(answer)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() noexcept {
    if (fd_ >= 0) sys::raw::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  // The kernel's answer: negative where nothing was opened.
  [[nodiscard]] long answer() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

// Each answers 0 or more, or -errno.

// Whether an open file is the one that a step is about.
[[nodiscard]] bool is_checked_inode(int fd, const Inode& inode) noexcept;

// Attaches a mount at the step's target.
[[nodiscard]] long attach(int mount, const Mount& step, int root) noexcept;

// A directory of the layer as the new root. *root: a descriptor of it.
[[nodiscard]] long layer_root(const Mount& step, const TaskIds& task, std::uint32_t index,
                              int* root) noexcept;

// An overlay: the new root where *root is -1, else below it.
[[nodiscard]] long overlay(const Mount& step, const TaskIds& task, std::uint32_t index,
                           int* root) noexcept;

}  // namespace mayfly::isolate::mounts
