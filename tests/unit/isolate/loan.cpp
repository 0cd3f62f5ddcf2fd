#include "isolate/loan.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "../supervise/support.hpp"

using namespace mayfly;
using namespace mayfly::isolate;
using mayfly::test::TempDir;

namespace {

unsigned mode_of(const std::string& path) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

}  // namespace

TEST_CASE("loan: the rights that are missing are added and taken back") {
  const TempDir dir;
  for (const int flags : {O_PATH, O_RDONLY}) {
    const Fd fd(::open(dir.path().c_str(), flags | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::chmod(dir.path().c_str(), 01051) == 0);
    Loan kept;
    {
      Result<Loan> loan = Loan::take(fd, S_IRUSR | S_IXUSR);
      REQUIRE(loan);
      CHECK(mode_of(dir.path()) == 01551);
      kept = std::move(*loan);
    }
    CHECK(mode_of(dir.path()) == 01551);
    kept.end();
    CHECK(mode_of(dir.path()) == 01051);
    REQUIRE(Loan::take(fd, S_IXUSR));  // and gone at once
    CHECK(mode_of(dir.path()) == 01051);
    REQUIRE(::chmod(dir.path().c_str(), 0700) == 0);
  }
}

TEST_CASE("loan: a mode that somebody else has set meanwhile stays") {
  const TempDir dir;
  const Fd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(::chmod(dir.path().c_str(), 0) == 0);
  Result<Loan> loan = Loan::take(fd, S_IXUSR);
  REQUIRE(loan);
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  loan->end();
  CHECK(mode_of(dir.path()) == 0755);
}
