// LayerMeter: how much a layer on disk holds, found by walking it while its sandbox lives.
//
// Nothing keeps such a layer from growing, so it is looked at again and again, a little at each
// turn of the event loop. Hostile input: nothing is followed, no mount crossed, depth capped; what
// is above a limit is known as soon as that much was counted, and what cannot be counted is above
// it. A mode is changed only where it keeps out its owner, by the rights that are missing, and
// never from one turn to the next. Not seen: what was unlinked while it is open.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "isolate/loan.hpp"
#include "sys/files.hpp"

namespace mayfly::supervise {

class LayerMeter {
 public:
  struct Size {
    std::uint64_t bytes = 0;  // on the disk
    std::uint64_t inodes = 0;
  };

  // Borrows the directory.
  LayerMeter(const Fd& directory, Size most);

  // Before the start. Fails where so few descriptors are left that any layer were too much.
  [[nodiscard]] static Result<void> check_descriptors();

  // When look() wants to be called, on the boot clock.
  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }
  // Walks on for a few milliseconds. True: more than the most was found.
  [[nodiscard]] bool look(std::int64_t now_ns);

  // One whole walk.
  [[nodiscard]] Size measure();
  // Why what was found is not all there is; empty: it is.
  [[nodiscard]] const std::string& why_not_all() const { return why_not_all_; }

 private:
  struct Level {
    Fd fd;
    std::unique_ptr<sys::DirectoryReader> reader;
    isolate::Loan search;  // the right to look up names in it
  };

  void begin();
  void push(Fd directory);
  [[nodiscard]] bool is_over() const;
  // False: the walk is over.
  bool step();
  void count(const char* name);
  // What `lookup` finds in the directory of the last level.
  template <class Lookup>
  auto in_last_level(Lookup lookup);
  void miss(const Error& error);

  const Fd& top_;
  Size most_;
  Size found_;
  std::string why_not_all_;
  std::size_t most_levels_;
  std::vector<Level> levels_;
  std::int64_t next_ns_ = 0;
  std::int64_t spent_ns_ = 0;  // on the walk so far
};

}  // namespace mayfly::supervise
