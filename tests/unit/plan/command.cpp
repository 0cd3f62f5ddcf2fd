#include "plan/command.hpp"

#include <doctest/doctest.h>

using namespace mayfly::plan;

using Paths = std::vector<std::string>;

TEST_CASE("program_paths: a name with a slash is one path") {
  CHECK(program_paths("/bin/ls", {"PATH=/a"}, "/w") == Paths{"/bin/ls"});
  CHECK(program_paths("./run", {"PATH=/a"}, "/w") == Paths{"/w/./run"});
  CHECK(program_paths("sub/run", {"PATH=/a"}, "/w/") == Paths{"/w/sub/run"});
  CHECK(program_paths("../run", {}, "/") == Paths{"/../run"});
}

TEST_CASE("program_paths: any other name is looked for in the task's PATH") {
  CHECK(program_paths("ls", {"X=1", "PATH=/usr/bin:/bin/"}, "/w") ==
        Paths{"/usr/bin/ls", "/bin/ls"});
  CHECK(program_paths("ls", {"PATH=:/bin:"}, "/w") == Paths{"/w/ls", "/bin/ls", "/w/ls"});
  CHECK(program_paths("ls", {"PATH=node_modules/.bin:."}, "/w") ==
        Paths{"/w/node_modules/.bin/ls", "/w/./ls"});
}

TEST_CASE("program_paths: where PATH names nothing there is still a path to fail with") {
  CHECK(program_paths("ls", {"PATH="}, "/") == Paths{"/ls"});
  CHECK(program_paths("ls", {"PATHS=/bin", "XPATH=/bin"}, "/w") == Paths{"/w/ls"});
  CHECK(program_paths("", {"PATH=/bin"}, "/w").empty());
}
