// The host's sockets are out of reach, those in shown trees included.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// Listens on a path, or on an abstract name if it begins with "@".
Fd listen_on(const std::string& name) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  REQUIRE(name.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(fd.get(), 4) == 0);
  if (name[0] != '@') REQUIRE(::chmod(name.c_str(), 0777) == 0);
  return fd;
}

std::string connect_answer(const std::string& name, const Words& options) {
  const Ended ended = run(options, {kProbe, "connect-unix", name});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return value_of(ended.out, "connect");
}

}  // namespace

TEST_CASE("an abstract socket of the host does not exist inside") {
  const std::string name = "@" + new_marker();
  const Fd listener = listen_on(name);
  REQUIRE(
      contains(Command({targets_path() + "/probe", "connect-unix", name}).run().out, "connect ok"));
  CHECK(connect_answer(name, {}) == "ECONNREFUSED");
}

TEST_CASE("a socket in a tree shown with --ro or --cow is dead") {
  const TempDir host;
  const Fd listener = listen_on(host / "socket");
  for (const char* option : {"--ro", "--cow"}) {
    CAPTURE(option);
    CHECK(connect_answer("/shown/socket", {option, host.path() + ":/shown"}) == "ECONNREFUSED");
  }
}

TEST_CASE("a socket in the project is dead") {
  const Run attack({}, {kProbe, "connect-unix", "socket"});
  const Fd listener = listen_on(attack.project() / "socket");
  CHECK(value_of(attack.end().out, "connect") == "ECONNREFUSED");
}

TEST_CASE("a socket in a tree shown with --rw refuses the start unless it is asked for") {
  const TempDir host;
  REQUIRE(::chmod(host.path().c_str(), 0777) == 0);
  const std::string below = host.dir("one") + "/socket";
  REQUIRE(::chmod(host.dir("one").c_str(), 0777) == 0);
  const Fd listener = listen_on(below);
  const Ended refused = sh("echo started", {"--rw", host.path() + ":/live"});
  CHECK(refused.code == 125);
  CHECK(refused.out.empty());
  CHECK(contains(refused.err, "one/socket"));
  CHECK(contains(refused.err, "--unsafe-sockets"));
  CHECK(connect_answer("/live/one/socket", {"--rw", host.path() + ":/live", "--unsafe-sockets"}) ==
        "ok 0");
}

TEST_CASE(
    "a socket among many files or in a directory that cannot be listed refuses the start, too") {
  const TempDir host;
  REQUIRE(::chmod(host.path().c_str(), 0777) == 0);
  const Words live = {"--rw", host.path() + ":/live"};
  const std::string closed = host.dir("closed");
  const Fd hidden = listen_on(closed + "/socket");
  if (!is_root()) {
    for (const mode_t mode : {mode_t{0311}, mode_t{0000}}) {
      REQUIRE(::chmod(closed.c_str(), mode) == 0);
      const Ended refused = sh("echo started", live);
      CHECK(refused.code == 125);
      CHECK(contains(refused.err,
                     "a socket, through which a task could reach the host, may lie in " + closed +
                         ": the caller cannot list it, but " +
                         (mode == 0 ? "owns it and can change its mode" : "can get in")));
      CHECK(contains(refused.err, "hint: name a directory without it, or pass --unsafe-sockets"));
      Words allowed = live;
      allowed.emplace_back("--unsafe-sockets");
      CHECK(sh("echo started", allowed).out == "started\n");
    }
    REQUIRE(::chmod(closed.c_str(), 0755) == 0);
  }
  REQUIRE(::unlink((closed + "/socket").c_str()) == 0);
  for (int i = repeats(20'000, 100'000); i > 0; --i)
    host.file(std::to_string(i), "");
  CHECK(sh("echo started", live).out == "started\n");
  const Fd listener = listen_on(host / "socket");
  const Ended refused = sh("echo started", live);
  CHECK(refused.code == 125);
  CHECK(contains(refused.err, "it holds the socket " + (host / "socket")));
}

TEST_CASE("a socket in a live project refuses the start unless it is asked for") {
  Run live({"--project", "rw"}, {"/bin/echo", "started"});
  const Fd listener = listen_on(live.project() / "socket");
  const Ended refused = live.end();
  CHECK(refused.code == 125);
  CHECK(refused.out.empty());
  CHECK(contains(refused.err, "/socket"));
  CHECK(contains(refused.err, "--unsafe-sockets"));

  Run allowed({"--project", "rw", "--unsafe-sockets"}, {"/bin/echo", "started"});
  const Fd other = listen_on(allowed.project() / "socket");
  CHECK(allowed.end().out == "started\n");
}

TEST_CASE("the well-known sockets of a host are not in sight") {
  const Ended ended =
      sh("find / -xdev -type s 2>/dev/null; ls -d /run/dbus /run/systemd /run/docker.sock "
         "/var/run/docker.sock /tmp/.X11-unix 2>/dev/null; :");
  CHECK(ended.started());
  CHECK(ended.out.empty());
}
