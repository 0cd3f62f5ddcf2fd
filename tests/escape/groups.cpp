// An ordinary caller cannot drop its supplementary groups: the result lists them, and what only
// they may read in the host's /etc stays unreadable.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// As user 61234 with a group 61235 beside its own, on a host whose /etc has a file for that group.
// (Root can be that user; the host is a mount namespace of its own.)
Finished as_member(const Words& words) {
  const TempDir home;
  for (const char* own : {"run", ".cache"}) {
    REQUIRE(::chown(home.dir(own).c_str(), 61234, 61234) == 0);
    REQUIRE(::chmod((home / own).c_str(), 0700) == 0);
  }
  const std::string script = R"(
    mkdir "$HOME/etc" && cp -a /etc/. "$HOME/etc/"
    echo s3cret > "$HOME/etc/for-the-group"
    mkdir "$HOME/etc/group.d" && echo s3cret > "$HOME/etc/group.d/inside"
    chgrp -R 61235 "$HOME/etc/for-the-group" "$HOME/etc/group.d"
    chmod 640 "$HOME/etc/for-the-group"; chmod 750 "$HOME/etc/group.d"
    mount --bind "$HOME/etc" /etc
    exec setpriv --reuid 61234 --regid 61234 --groups 61235 -- "$@")";
  Words all = {"unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", script, "sh"};
  all.insert(all.end(), words.begin(), words.end());
  return Command(all).env("HOME", home.path()).env("XDG_RUNTIME_DIR", home / "run").cwd("/").run();
}

}  // namespace

TEST_CASE("a group's files in /etc are readable to a caller in it, and not to that caller's task") {
  if (!is_root()) return;  // only root can be a user with such a group
  const std::string look = "cat /etc/for-the-group /etc/group.d/inside 2>/dev/null; id -G";
  const Finished outside = as_member({"/bin/sh", "-c", look});
  CAPTURE(outside.err);
  CHECK(outside.out == "s3cret\ns3cret\n61234 61235\n");

  const TempDir reports;
  REQUIRE(::chmod(reports.path().c_str(), 0777) == 0);
  const Finished inside = as_member(
      {mayfly_path(), "run", "--result", reports / "result.json", "--", "/bin/sh", "-c", look});
  CAPTURE(inside.err);
  CHECK(inside.code == 0);
  CHECK_FALSE(contains(inside.out, "s3cret"));

  bool listed = false;
  const nlohmann::json result = nlohmann::json::parse(read_file(reports / "result.json"));
  for (const nlohmann::json& note : result.at("notes"))
    listed = listed || contains(note.at("how").get<std::string>(), "61235");
  CAPTURE(result.at("notes").dump());
  CHECK(listed);
}
