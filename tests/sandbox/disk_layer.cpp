// The layer on disk: what it holds, what holds it, and that it goes.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// A run whose layers are in a directory of its own, where the caller can choose one.
class DiskRun {
 public:
  DiskRun(Words options, const Words& task) : run_(with_disk(std::move(options)), task) {
    run_.command.env("XDG_CACHE_HOME", cache_.path()).deadline(milliseconds(120'000));
    run_.project().file("lower/file", "of the host");
  }

  void limit_files(rlim_t most) {
    run_.command.before_exec([most] {
      const rlimit limit = {most, most};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    });
  }
  [[nodiscard]] Ended end() const { return run_.end(); }
  [[nodiscard]] Process start() const { return run_.command.start(); }
  [[nodiscard]] Ended end(Process process) const { return run_.end(std::move(process)); }
  [[nodiscard]] const TempDir& cache() const { return cache_; }

  [[nodiscard]] std::string layers() const {
    return is_root() ? "/var/cache/mayfly/layers" : cache_ / "mayfly/layers";
  }
  // The layers of no other run: those that were not there before.
  [[nodiscard]] bool is_left(const std::string& id) const { return exists(layers() + "/" + id); }

  Finished gc() const {
    return Command({mayfly_path(), "gc"}).env("XDG_CACHE_HOME", cache_.path()).run();
  }

 private:
  static Words with_disk(Words options) {
    options.insert(options.end(), {"--layer", "disk"});
    return options;
  }

  TempDir cache_;
  Run run_;
};

std::string registry() {
  if (is_root()) return "/run/mayfly";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr) return std::string(runtime) + "/mayfly";
  return "/tmp/mayfly-" + std::to_string(::geteuid());
}

}  // namespace

TEST_CASE("disk layer: files, directories of the host replaced, and nothing of it is left") {
  const DiskRun run({}, {"sh", "-c",
                         "echo text > /tmp/file; rm -r lower && mkdir lower && ls -A lower; "
                         "cat /tmp/file; dd if=/dev/zero of=/var/tmp/x bs=1M count=3 2>/dev/null"});
  const Ended ended = run.end();
  CHECK_MESSAGE(ended.code == 0, ended.err);
  CHECK(ended.out == "text\n");
  CHECK(ended.result.at("clean") == true);
  CHECK(ended.result.at("proof").at("layer_closed") == true);
  CHECK(ended.result.at("usage").at("layer_bytes").get<std::uint64_t>() >= 3u << 20);
  CHECK_FALSE(run.is_left(ended.id()));
  bool told = false;
  for (const auto& note : ended.result.at("notes")) {
    if (note.at("what") == "layer") told = note.at("enforcement") == "approximated";
  }
  CHECK(told);
}

TEST_CASE("disk layer: more than its size ends the sandbox") {
  const DiskRun run({"--layer-size", "4M", "--grace", "0"},
                    {"sh", "-c", "dd if=/dev/zero of=/tmp/x bs=1M count=32; sleep 60"});
  const Ended ended = run.end();
  CHECK(ended.reason() == "layer_limit");
  CHECK(ended.code == 124);
  CHECK(ended.result.at("limits_hit") == nlohmann::json::array({"layer-size"}));
  CHECK_FALSE(run.is_left(ended.id()));
}

TEST_CASE("disk layer: more files than it may hold end the sandbox, hidden ones too") {
  const DiskRun run({"--layer-inodes", "300", "--grace", "0"},
                    {"sh", "-c",
                     "mkdir /tmp/d; i=0; while [ $i -lt 500 ]; do : > /tmp/d/$i; i=$((i+1)); done;"
                     "chmod 0 /tmp/d; sleep 60"});
  CHECK(run.end().reason() == "layer_limit");
}

TEST_CASE("disk layer: what cannot be counted for want of descriptors is too much") {
  DiskRun run({"--layer-size", "10M", "--grace", "0"},
              {"bash", "-c",
               "cd /tmp; for i in {1..90}; do mkdir d; cd d; done; "
               "head -c 60000000 /dev/zero > big; sleep 60"});
  run.limit_files(64);
  const Ended ended = run.end();
  CHECK_MESSAGE(ended.reason() == "layer_limit", ended.err);
  CHECK(ended.result.at("clean") == true);
  const auto& usage = ended.result.at("usage");
  CHECK(contains(usage.at("layer_bytes_why").get<std::string>(),
                 "there is more, which was not found: more than 32 directories"));
  CHECK_FALSE(run.is_left(ended.id()));
}

TEST_CASE("disk layer: the task sees no mode but its own and its chmod stays") {
  const DiskRun run({}, {"python3", "-c",
                         "import os, time\n"
                         "for d in '/tmp/open', '/tmp/shut':\n"
                         "  os.mkdir(d)\n"
                         "  for i in range(2000): os.mknod(f'{d}/{i}')\n"
                         "os.chmod('/tmp/open', 0o555)\n"
                         "os.chmod('/tmp/shut', 0)\n"
                         "mode = lambda d: oct(os.stat(d).st_mode & 0o7777)\n"
                         "seen, shut, end = set(), set(), time.time() + 2\n"
                         "while time.time() < end:\n"
                         "  seen.add(mode('/tmp/open'))\n"
                         "  if mode('/tmp/shut') not in ('0o0', '0o755'):\n"
                         "    shut.add(mode('/tmp/shut'))\n"
                         "    os.chmod('/tmp/shut', 0o755)\n"
                         "os.chmod('/tmp/shut', 0o755)\n"
                         "time.sleep(0.5)\n"
                         "print(*seen, mode('/tmp/shut'), shut - {'0o0', '0o100', '0o500'})\n"});
  const Ended ended = run.end();
  CHECK_MESSAGE(ended.code == 0, ended.err);
  CHECK(ended.out == "0o555 0o755 set()\n");
}

TEST_CASE("disk layer: a tree made to stay does not") {
  const DiskRun run({}, {"python3", "-c",
                         "import os\n"
                         "os.symlink('/etc', '/tmp/link')\n"
                         "os.chdir('/tmp')\n"
                         "for i in range(150):\n"
                         "  os.mkdir('d'); os.chdir('d')\n"
                         "  open('f', 'w').close()\n"
                         "  os.chmod('f', 0)\n"
                         "for i in range(150):\n"
                         "  os.chdir('..'); os.chmod('d', 0)\n"});
  const Ended ended = run.end();
  CHECK_MESSAGE(ended.code == 0, ended.err);
  CHECK(ended.result.at("clean") == true);
  CHECK_FALSE(run.is_left(ended.id()));
}

TEST_CASE("disk layer: after a SIGKILL of the supervisor gc removes it, and not before") {
  const std::string marker = new_marker();
  const DiskRun run({"--name", "layer-" + marker},
                    {"sh", "-c", "echo x > /tmp/x; sleep 60; : " + marker});
  Process process = run.start();
  await_processes(marker, 1);
  const std::string id = "layer-" + marker;
  CHECK(within(milliseconds(10'000), [&] { return run.is_left(id); }));
  run.gc();
  CHECK(run.is_left(id));
  process.send(SIGKILL);
  process.finish();
  CHECK(within(milliseconds(10'000), [&] { return processes_with(marker).empty(); }));
  CHECK(run.is_left(id));
  const Finished gc = run.gc();
  // As root another test's gc, or a sweep that leaves it again, may be at it.
  CHECK_MESSAGE((is_root() || contains(gc.out, id + ": removed")), gc.out);
  CHECK(within(milliseconds(10'000), [&] { return !run.is_left(id) || (run.gc(), false); }));
}

TEST_CASE("disk layer: where the cache directory leads elsewhere at the end, nothing else goes") {
  if (is_root()) return;  // its cache directory is everybody's
  const std::string id = "led-" + new_marker();
  const DiskRun run({"--name", id}, {kProbe, "hold"});
  const std::string mayfly = run.cache() / "mayfly", moved = run.cache() / "moved";
  const std::string precious =
      run.cache().file("mine/layers/" + id + "/precious", "of the caller's");
  Process process = run.start();
  process.await_output("ready");
  std::filesystem::rename(mayfly, moved);
  std::filesystem::create_symlink(run.cache() / "mine", mayfly);
  process.send(SIGTERM);
  const Ended ended = run.end(std::move(process));
  CHECK(ended.reason() == "cancelled");
  CHECK(ended.result.at("clean") == true);
  CHECK(exists(precious));
  CHECK_FALSE(exists(moved + "/layers/" + id));
  const Finished gc = run.gc();
  CHECK(gc.code == 125);
  CHECK(
      contains(gc.out, mayfly + " for layers on disk: it is not a directory, or a symbolic link"));
  CHECK(exists(precious));
}

TEST_CASE("disk layer: a task that puts something in its place does not have that removed") {
  if (is_root()) return;  // its cache directory is not shown to a task
  const TempDir cache;
  const std::string layers = cache / "mayfly/layers", id = "moved-" + new_marker();
  const Run run({"--layer", "disk", "--name", id, "--rw", cache.path()},
                {"sh", "-c", "cd $0 && mv $1 x && mkdir $1 && echo mine > $1/keep", layers, id});
  Command command = run.command;
  command.env("XDG_CACHE_HOME", cache.path());
  const Ended ended = run.end(command.start());
  CHECK_MESSAGE(ended.code == 0, ended.err);
  CHECK(ended.result.at("clean") == false);
  CHECK(contains(ended.result.at("unclean_why").get<std::string>(), "it was moved"));
  CHECK(read_file(layers + "/" + id + "/keep") == "mine\n");
  CHECK(std::filesystem::is_empty(layers + "/x"));
  const Finished gc = Command({mayfly_path(), "gc"}).env("XDG_CACHE_HOME", cache.path()).run();
  CHECK(contains(gc.out, id + ": removed: the layer of its name is not the recorded one"));
  CHECK(contains(gc.out, layers + "/" + id + ": kept: no layer that mayfly made"));
  CHECK_FALSE(exists(layers + "/x"));
  CHECK(read_file(layers + "/" + id + "/keep") == "mine\n");
}

TEST_CASE("disk layer: a directory in which others may write is refused, and gc leaves it alone") {
  if (is_root()) return;  // its cache directory is everybody's
  const DiskRun run({}, {"true"});
  const std::string mayfly = run.cache().dir("mayfly");
  std::filesystem::permissions(mayfly, std::filesystem::perms::all);
  const Ended ended = run.end();
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, mayfly + " for layers on disk: others may write there"));
  CHECK(contains(ended.err, "chmod go-w " + mayfly));
  const Finished gc = run.gc();
  CHECK(gc.code == 125);
  CHECK(contains(gc.out, ": kept: cannot use the directory " + mayfly));
}

TEST_CASE("disk layer: one with a name is collected without its entry, by gc or the next start") {
  const std::string marker = new_marker(), id = "layer-" + marker;
  for (const bool by_gc : {true, false}) {
    CAPTURE(by_gc);
    const DiskRun run({"--name", id}, {kProbe, "hold", marker});
    Process process = run.start();
    process.await_output("ready");
    process.send(SIGKILL);
    process.finish();
    CHECK(within(paced(10'000), [&] { return processes_with(marker).empty(); }));
    std::filesystem::remove_all(registry() + "/" + id);
    if (by_gc) {
      const Finished gc = run.gc();
      CHECK((is_root() || contains(gc.out, id + ": removed")));
      CHECK(within(paced(10'000), [&] { return !run.is_left(id) || (run.gc(), false); }));
    } else {
      const Run again({"--layer", "disk", "--name", id}, {"true"});
      Command command = again.command;
      command.env("XDG_CACHE_HOME", run.cache().path());
      const Ended ended = again.end(command.start());
      CHECK_MESSAGE(ended.code == 0, ended.err);
    }
    CHECK_FALSE(run.is_left(id));
  }
}

TEST_CASE("disk layer: a cache directory that cannot hold it is named, with the remedy") {
  if (is_root()) return;  // root's is not the environment's to choose
  const TempDir dir;
  const Run run({"--layer", "disk"}, {"true"});
  Command command = run.command;
  command.env("XDG_CACHE_HOME", dir.file("no-directory", ""));
  const Ended ended = run.end(command.start());
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "for layers on disk"));
  CHECK(contains(ended.err, "XDG_CACHE_HOME can name"));
}

TEST_CASE("disk layer: where the layer cannot be in memory it is on disk by itself") {
  const Ended in_memory = run({"--layer", "memory"}, {"true"});
  if (in_memory.code == 0) return;  // 6.6 and later: there is nothing to make up for
  CHECK(in_memory.reason() == "host_unsupported");
  CHECK(contains(in_memory.err, "--layer disk"));
  const Run replaced({}, {"sh", "-c", "rm -r lower && mkdir lower"});
  replaced.project().file("lower/file", "of the host");
  const Ended by_itself = replaced.end();
  CHECK_MESSAGE(by_itself.code == 0, by_itself.err);
}

TEST_CASE("disk layer: who is root only in a user namespace has its own directories") {
  if (is_root()) return;  // whose /run and /var/cache are its own there, too
  const TempDir home;
  home.dir("run");
  const Finished finished =
      Command({"unshare", "--user", "--map-root-user", mayfly_path(), "run", "--layer", "disk",
               "--project", "none", "--name", new_marker(), "--", "echo", "hi"})
          .env("HOME", home.path())
          .env("XDG_RUNTIME_DIR", home / "run")
          .run();
  CHECK_MESSAGE(finished.code == 0, finished.err);
  CHECK(finished.out == "hi\n");
  CHECK(exists(home / ".cache/mayfly/layers"));
  CHECK(exists(home / "run/mayfly"));
}
