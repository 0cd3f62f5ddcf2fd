// LayerMeter: how much a layer on disk holds, found by walking it while its sandbox lives.
//
// Nothing keeps such a layer from growing, so it is looked at again and again, a little at each
// turn of the event loop. Hostile input: nothing is followed, no mount crossed, depth capped; what
// is above a limit is known as soon as that much was counted. Not seen: what was unlinked while it
// is open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "isolate/disk_layer.hpp"
#include "sys/files.hpp"

namespace mayfly::supervise {

class LayerMeter {
 public:
  struct Size {
    std::uint64_t bytes = 0;  // on the disk
    std::uint64_t inodes = 0;
  };

  // Borrows the directory.
  LayerMeter(const Fd& directory, Size most) : top_(directory), most_(most) {}

  // When look() wants to be called, on the boot clock.
  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }
  // Walks on for a few milliseconds. True: more than the most was found.
  [[nodiscard]] bool look(std::int64_t now_ns);

  // One whole walk.
  [[nodiscard]] Size measure();

 private:
  struct Level {
    Fd fd;
    std::unique_ptr<sys::DirectoryReader> reader;
    std::optional<mode_t> closed_mode;  // to be restored
  };

  void begin();
  void push(isolate::disk_layer::Opened opened);
  void pop();
  [[nodiscard]] bool is_over() const;
  // False: the walk is over.
  bool step();
  void count(const Fd& directory, const char* name);

  const Fd& top_;
  Size most_;
  Size found_;
  bool too_deep_ = false;
  std::vector<Level> levels_;
  std::int64_t next_ns_ = 0;
  std::int64_t spent_ns_ = 0;  // on the walk so far
};

}  // namespace mayfly::supervise
