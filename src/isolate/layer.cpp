#include "isolate/layer.hpp"

namespace mayfly::isolate::layer {

Prepared prepare(std::uint64_t bytes, std::uint64_t inodes) {
  return {
      .options = "mode=0700,size=" + std::to_string(bytes) + ",nr_inodes=" + std::to_string(inodes),
      .on_disk = {}};
}

}  // namespace mayfly::isolate::layer
