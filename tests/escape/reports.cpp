// A task cannot forge what its caller is told: the result, the events, the commands to mayfly.
//
// Attack: in a tree that the task has live, put a directory where the temporary file is to be made,
// or take the directory's write permission, and leave a file in the result's place; write to the
// file that the status descriptor is; write commands to the FIFO of the control descriptor.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

Words with_verb(const Words& verb, const Words& options, const std::string& script) {
  Words words = {mayfly_path()};
  words.insert(words.end(), verb.begin(), verb.end());
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "/bin/sh", "-c", script});
  return words;
}

// Refused by run and explain alike, and the command has not run.
void check_refused(const TempDir& tree, const Words& options, int fd, const std::string& told) {
  CAPTURE(joined(options));
  for (const Words& verb : {Words{"run"}, Words{"explain", "run"}}) {
    Command command(with_verb(verb, options, "echo x > ran"));
    command.cwd(tree.path());
    if (fd >= 0) command.fd(7, fd);
    const Finished ended = command.run();
    CHECK(ended.code == 125);
    CHECK(contains(ended.err, told));
    CHECK(contains(ended.err, "outside of it"));
    CHECK_FALSE(exists(tree / "ran"));
  }
}

}  // namespace

TEST_CASE("a result in a tree that the command has live is refused before the start") {
  const TempDir host;
  const TempDir elsewhere;
  host.dir("out");
  REQUIRE(::symlink((host / "out").c_str(), (elsewhere / "link").c_str()) == 0);
  const std::string live = " live (--project rw)", shown_rw = " live (--rw)";
  const std::string told = "cannot write the result to " + host.path();
  const std::string could = ": the command could write there, too, since it has " + host.path();
  check_refused(host, {"--project", "rw", "--result", "r.json"}, -1,
                told + "/r.json" + could + live);
  check_refused(host, {"--project", "rw", "--result", host / "out/r.json"}, -1,
                told + "/out/r.json" + could + live);
  check_refused(host, {"--project", "rw", "--result", elsewhere / "link/r.json"}, -1,
                told + "/out/r.json" + could + live);
  check_refused(host, {"--project", "none", "--rw", host.path() + ":/work", "--result", "r.json"},
                -1, told + "/r.json" + could + shown_rw);
  // The directories above what is mounted over could be moved away.
  check_refused(host, {"--project", "rw", "--ro", host / "out", "--result", host / "out/r.json"},
                -1, told + "/out/r.json" + could + live);

  const std::string forge = "echo FORGED > r.json; exit 3";
  for (const Words& options :
       {Words{"--result", host / "r.json"}, Words{"--project", "ro", "--result", host / "r.json"},
        Words{"--project", "rw", "--result", elsewhere / "r.json"}}) {
    CAPTURE(joined(options));
    const Finished ended = Command(with_verb({"run"}, options, forge)).cwd(host.path()).run();
    CHECK(ended.code == 3);
    const std::string& file = options.back();
    CHECK(nlohmann::json::parse(read_file(file)).at("code") == 3);
  }
}

TEST_CASE("a result in the place of the command's output is refused") {
  const TempDir host;
  for (const int number : {1, 2}) {
    for (const Words& verb : {Words{"run"}, Words{"explain", "run"}}) {
      const std::string log = host.file("log", "");
      const Fd output(::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      Command command(with_verb(verb, {"--result", "log"}, "echo x > ran"));
      command.cwd(host.path()).fd(number, output.get());
      const Finished ended = command.run();
      CHECK(ended.code == 125);
      CHECK(contains(ended.err + read_file(log),
                     "write the result to " + log + ": descriptor " + std::to_string(number)));
    }
  }
}

TEST_CASE("a file or FIFO of a live tree is no status or control descriptor") {
  const TempDir host;
  const TempDir elsewhere;
  const Words status = {"--project", "rw", "--status-fd", "7"};
  const Words control = {"--project", "rw", "--control-fd", "7"};
  const std::string live = " live (--project rw)";
  const std::string could = ": the command could write there, too, since it has " + host.path();
  const Fd inside(::open(host.file("status", "").c_str(), O_WRONLY | O_CLOEXEC));
  check_refused(
      host, status, inside.get(),
      "cannot write the status to descriptor 7, which is " + (host / "status") + could + live);
  REQUIRE(::mkfifo((host / "fifo").c_str(), 0600) == 0);
  const Fd fifo(::open((host / "fifo").c_str(), O_RDWR | O_CLOEXEC));
  check_refused(host, status, fifo.get(), "which is " + (host / "fifo") + could + live);
  check_refused(
      host, control, fifo.get(),
      "cannot read commands from descriptor 7, which is " + (host / "fifo") + could + live);

  const Pipe pipe = make_pipe();
  const Fd outside(::open(elsewhere.file("status", "").c_str(), O_WRONLY | O_CLOEXEC));
  const Fd nameless(::open(host.file("gone", "").c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(::unlink((host / "gone").c_str()) == 0);
  for (const int fd : {pipe.write.get(), outside.get(), nameless.get()}) {
    CAPTURE(fd);
    Command command(with_verb({"run"}, status, "exit 3"));
    CHECK(command.cwd(host.path()).fd(7, fd).run().code == 3);
  }
}
