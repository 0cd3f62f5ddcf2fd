// The default network: an own loopback that works, and no way out, which fails at once.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// A listener on the host's 127.0.0.1.
class HostListener {
 public:
  HostListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(fd_.get(), 1) == 0);
    REQUIRE(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::string port() const { return std::to_string(port_); }

 private:
  Fd fd_;
  int port_ = 0;
};

void check_unreachable(const Words& attempt) {
  CAPTURE(attempt.back());
  long fastest = 1'000'000;
  // A try may lose the processor for longer than it takes. Not all of three.
  for (int tries = 0; tries < 3 && fastest >= 100; ++tries) {
    const Ended ended = run({}, attempt);
    CAPTURE(ended.out);
    REQUIRE(ended.code == 0);
    CHECK_FALSE(contains(ended.out, " ok "));
    fastest = std::min(fastest, std::stol(value_of(ended.out, "took-ms")));
  }
  CHECK(fastest < 100);
}

}  // namespace

TEST_CASE("the only interface is lo, and it is up") {
  const Ended ended =
      sh("cut -d: -f1 -s /proc/net/dev | tr -d ' '; cat /sys/class/net/lo/operstate 2>/dev/null");
  CHECK(lines(ended.out).at(0) == "lo");
  CHECK(run({}, {kProbe, "loopback"}).out == "127.0.0.1 ok 0\n::1 ok 0\n");
}

TEST_CASE("no address outside can be reached, and it fails at once") {
  for (const char* address :
       {"192.0.2.1", "10.0.0.1", "169.254.169.254", "8.8.8.8", "2001:db8::1", "fe80::1"}) {
    check_unreachable({kProbe, "connect-tcp", address, "80"});
    check_unreachable({kProbe, "send-udp", address, "53"});
  }
}

TEST_CASE("the host's loopback is another one") {
  const HostListener listener;
  check_unreachable({kProbe, "connect-tcp", "127.0.0.1", listener.port()});
}

TEST_CASE("names do not resolve, and that is known at once") {
  const Ended ended = run({}, {"/usr/bin/getent", "hosts", "example.org"});
  CHECK(ended.code == 2);
  CHECK(ended.exited_after < paced(3000));
  CHECK(run({}, {"/usr/bin/getent", "hosts", "localhost"}).code == 0);
}

TEST_CASE("two sandboxes do not share a network") {
  const Run first({}, {"/bin/sh", "-c", "/targets/probe namespaces; echo ready; sleep 20"});
  Process process = first.command.start();
  process.await_output("ready");
  const Ended second = run({}, {kProbe, "namespaces"});
  process.send(SIGTERM);
  const Ended ended = first.end(std::move(process));
  CHECK(value_of(ended.out, "net") != value_of(second.out, "net"));
}
