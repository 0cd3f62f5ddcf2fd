#include "host/channels.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "../supervise/support.hpp"

using namespace mayfly;
using namespace mayfly::test;

namespace {

constexpr uid_t kOther = 65533, kCaller = 65534;

Fd socket_at(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  REQUIRE(path.size() < sizeof address.sun_path);
  std::copy(path.begin(), path.end(), address.sun_path);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

std::string made_dir(const std::string& path) {
  REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  return path;
}

// As an ordinary caller sees it; root may list everything.
std::string seen_by_caller(const std::string& directory) {
  return in_child([&] {
    if (::geteuid() == 0 && ::setresuid(kCaller, kCaller, kCaller) != 0) return std::string("no");
    const host::Channels found = host::channels_in(directory);
    return found.socket + "|" + found.unseen + "|" + found.why_unseen;
  });
}

}  // namespace

TEST_CASE("channels: the first of each kind in two levels, among however many") {
  const TempDir dir;
  CHECK(host::channels_in(dir.path()) == host::Channels{});
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = dir / std::to_string(i);
    if (i == 10'000) socket_at(dir / "socket");
    REQUIRE(Fd(::open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
  }
  CHECK(host::channels_in(dir.path()) == host::Channels{.socket = dir / "socket"});
  made_dir(made_dir(dir / "one") + "/two");
  REQUIRE(::mkfifo((dir / "one/two/deep").c_str(), 0600) == 0);
  CHECK(host::channels_in(dir.path()).fifo == "");
  REQUIRE(::mkfifo((dir / "one/fifo").c_str(), 0600) == 0);
  CHECK(host::channels_in(dir.path()).fifo == (dir / "one/fifo"));
}

TEST_CASE("channels: what is too large to be looked through is not taken to be harmless") {
  const TempDir dir;
  for (int i = 0; i < 20; ++i)
    write_text(dir / std::to_string(i), "");
  const host::Channels unseen{.socket = dir.path(),
                              .fifo = dir.path(),
                              .unseen = dir.path(),
                              .why_unseen = "it is too large to be looked through"};
  CHECK(host::channels_in(dir.path(), {}, 20) == host::Channels{});
  CHECK(host::channels_in(dir.path(), {}, 19) == unseen);
  made_dir(dir / "below");  // to open it costs, too
  CHECK(host::channels_in(dir.path(), {}, 21) == unseen);
  CHECK(host::channels_in(dir.path(), {}, 40) == host::Channels{});
}

TEST_CASE("channels: a directory that can be entered and not listed may hold a socket") {
  const TempDir dir;
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  const std::string closed = made_dir(dir / "closed");
  const Fd socket = socket_at(closed + "/socket");
  const bool root = ::geteuid() == 0;
  const auto with = [&](mode_t mode, uid_t owner) {
    if (root) REQUIRE(::chown(closed.c_str(), owner, owner) == 0);
    REQUIRE(::chmod(closed.c_str(), mode) == 0);
    return seen_by_caller(dir.path());
  };
  const std::string unseen = closed + "|" + closed + "|the caller cannot list it, but can get in";
  const std::string own =
      closed + "|" + closed + "|the caller cannot list it, but owns it and can change its mode";
  CHECK(with(0755, kCaller) == closed + "/socket||");
  CHECK(with(0311, kCaller) == unseen);
  CHECK(with(0000, kCaller) == own);
  CHECK(seen_by_caller(closed) == own);
  if (root) {
    CHECK(with(0711, kOther) == unseen);
    CHECK(with(0700, kOther) == "||");  // no way in
    CHECK(seen_by_caller(closed) == "||");
  }
  REQUIRE(::chmod(closed.c_str(), 0755) == 0);
}
