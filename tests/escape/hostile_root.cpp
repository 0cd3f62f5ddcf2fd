// A root or project directory with traps in it: links that point outside, or stand where we mount.
#include <doctest/doctest.h>
#include <unistd.h>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// A root with a program in it and, for each name, a link to `outside`.
void lay_trap(const TempDir& root, const TempDir& outside, const Words& names) {
  root.file("bin/probe", read_file(targets_path() + "/probe"), 0755);
  static_cast<void>(root.dir("etc"));
  for (const std::string& name : names)
    REQUIRE(::symlink(outside.path().c_str(), (root / name).c_str()) == 0);
}

std::string listing(const TempDir& directory) {
  return Command({"/usr/bin/find", directory.path(), "-printf", "%p %y %s %m\n"}).run().out;
}

// A refusal names what it is about.
bool ran_or_refused(const Ended& ended, const std::string& path) {
  if (ended.started()) return ended.code == 0;
  return ended.code == 125 && contains(ended.err, path);
}

}  // namespace

TEST_CASE(
    "links at /dev, /proc, /sys, /tmp and in /etc of a root: refused or resolved inside, the host "
    "is untouched") {
  for (const Words& names :
       {Words{"proc"}, Words{"dev"}, Words{"sys"}, Words{"tmp"}, Words{"run"},
        Words{"etc/resolv.conf", "etc/passwd", "etc/hosts"}, Words{"proc", "dev", "sys", "tmp"}}) {
    CAPTURE(joined(names));
    const TempDir root, outside;
    outside.file("kept", "kept");
    lay_trap(root, outside, names);
    const std::string root_before = listing(root), outside_before = listing(outside);
    const Ended ended = run({"--root", root.path(), "--project", "none"},
                            {"/bin/probe", "open", outside / "kept", "r"});
    CAPTURE(ended.err);
    CHECK(ran_or_refused(ended, "/" + names[0]));
    CHECK_FALSE(contains(ended.out, "open ok"));
    CHECK(listing(outside) == outside_before);
    CHECK(listing(root) == root_before);
  }
}

TEST_CASE("a target of --ro, --file, --dir or --tmpfs through a link that leaves the root") {
  const TempDir root, outside, shown;
  outside.file("kept", "kept");
  shown.file("file", "shown");
  lay_trap(root, outside, {"trap"});
  const std::string before = listing(outside);
  for (const Words& option :
       {Words{"--ro", shown.path() + ":/trap/here"}, Words{"--rw", shown.path() + ":/trap/here"},
        Words{"--file", "/trap/made=x"}, Words{"--dir", "/trap/made"},
        Words{"--tmpfs", "/trap/made"}, Words{"--symlink", "/trap/made=x"},
        Words{"--mask", "/trap/kept"}}) {
    CAPTURE(joined(option));
    Words options = {"--root", root.path(), "--project", "none"};
    options.insert(options.end(), option.begin(), option.end());
    const Ended ended = run(options, {"/bin/probe", "ids"});
    CAPTURE(ended.err);
    CHECK(ran_or_refused(ended, "/trap"));
    CHECK(listing(outside) == before);
  }
}

TEST_CASE("a link in the project that points outside does not lead there") {
  const TempDir outside;
  outside.file("secret", "s3cret");
  const Run attack(
      {}, {"/bin/sh", "-c", "cat link/secret; echo x > link/made; cat up/secret; ls link up"});
  REQUIRE(::symlink(outside.path().c_str(), (attack.project() / "link").c_str()) == 0);
  REQUIRE(::symlink(("../" + outside.path().substr(outside.path().rfind('/') + 1)).c_str(),
                    (attack.project() / "up").c_str()) == 0);
  const Ended ended = attack.end();
  CHECK(ended.started());
  CHECK_FALSE(contains(ended.out, "s3cret"));
  CHECK_FALSE(exists(outside / "made"));
}
