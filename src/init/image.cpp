#include "init/image.hpp"

// MAYFLY_INIT_PROGRAM: the path of the built program, from init.cmake.
__asm__(
    ".pushsection .rodata.mayfly_init_image, \"a\"\n"
    "mayfly_init_image_begin:\n"
    ".incbin \"" MAYFLY_INIT_PROGRAM
    "\"\n"
    "mayfly_init_image_end:\n"
    ".popsection\n");

extern "C" const std::byte mayfly_init_image_begin[];
extern "C" const std::byte mayfly_init_image_end[];

namespace mayfly::init {

std::span<const std::byte> init_image() {
  return {mayfly_init_image_begin, mayfly_init_image_end};
}

}  // namespace mayfly::init
