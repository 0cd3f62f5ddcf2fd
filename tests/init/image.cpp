// What the init program is made of: it is executed for every sandbox, so it stays small.
#include "init/image.hpp"

#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>

#include "harness.hpp"

using namespace mayfly;

TEST_CASE("init is one segment that is not writable, without loader, and small") {
  const auto image = init::init_image();
  REQUIRE(image.size() > sizeof(Elf64_Ehdr));
  CHECK(image.size() <= 12 * 1024);
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  CHECK(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  int loaded = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image.data() + header.e_phoff + unsigned(i) * sizeof segment,
                sizeof segment);
    CHECK(segment.p_type != PT_INTERP);
    CHECK(segment.p_type != PT_DYNAMIC);
    if (segment.p_type == PT_GNU_STACK) CHECK((segment.p_flags & PF_X) == 0);
    if (segment.p_type != PT_LOAD) continue;
    ++loaded;
    CHECK(segment.p_flags == (PF_R | PF_X));
  }
  CHECK(loaded == 1);
}
