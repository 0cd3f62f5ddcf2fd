// CASE 59: what `explain` says is what a task then finds, and to explain changes nothing.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;
using nlohmann::json;

namespace {

// The options of a case, and what makes it a case of its own.
struct Kind {
  const char* name;
  Words options;
};

// The strict policy has its layer in memory, which older kernels cannot.
Words with_layer(Words options) {
  if (kernel_is_older_than(6, 6)) options.insert(options.end(), {"--layer", "auto"});
  return options;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"stock", {}},
      {"trees", {"--ro", "/usr/share:/shared", "--tmpfs", "/scratch:size=1M", "--mask", "/opt"}},
      {"live", {"--project", "rw"}},
      {"entries",
       {"--file", "/srv/text:640=hello", "--file", "/srv/copy=@/etc/hostname", "--dir",
        "/srv/box:1700", "--dir", "/usr", "--symlink", "/srv/link=text"}},
      {"empty root",
       {"--root", "empty", "--ro", "/usr", "--ro", "/bin", "--ro", "/lib", "--ro", "/lib64",
        "--project", "none"}},
      {"denials", {"--explain-denials"}},
      {"limits", {"--pids", "33", "--umask", "077", "--hostname", "elsewhere", "--env", "A=1"}},
      {"disk", {"--layer", "disk"}},
      {"nesting", {"--unsafe-nesting"}},
      {"capabilities", {"--keep-caps"}},
      {"policy default", {"--policy", "default"}},
      {"policy strict", with_layer({"--policy", "strict"})},
      {"policy build", {"--policy", "build"}},
      {"resources", {"--rlimit", "nofile=64:128", "--rlimit", "stack=1M", "--rlimit", "cpu=60"}},
  };
  return all;
}

Words explain_words(const Words& options, const Words& task) {
  Words words = {mayfly_path(), "explain", "--json", "run"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), task.begin(), task.end());
  return words;
}

// What explain says of a run in the same directory.
json explained(const Run& work, const Words& options, const Words& task) {
  Command command(explain_words(options, task));
  command.cwd(work.project().path());
  const Finished finished = command.run();
  CAPTURE(finished.err);
  REQUIRE(finished.code == 0);
  return json::parse(finished.out);
}

const std::string kLook =
    "cat /proc/self/mountinfo; echo ==; cat /proc/self/status; echo ==; cat /proc/self/limits;"
    "echo ==; tr '\\0' '\\n' < /proc/self/environ; echo ==; cat /proc/self/uid_map; echo ==;"
    "pwd; hostname; umask; id -u; stat -f -c '%b %S %c' /tmp";

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const std::string& line : lines(text)) {
    if (line == "==") {
      parts.emplace_back();
    } else {
      parts.back() += line + "\n";
    }
  }
  return parts;
}

struct Inside {
  std::set<std::string> points;     // every mount point
  std::set<std::string> read_only;  // those that cannot be written
};

// Of several at one point the last is on top.
Inside mounts_inside(const std::string& mountinfo) {
  Inside inside;
  for (const std::string& line : lines(mountinfo)) {
    std::istringstream words(line);
    std::string id, parent, device, root, point, options;
    words >> id >> parent >> device >> root >> point >> options;
    inside.points.insert(point);
    inside.read_only.erase(point);
    if (("," + options + ",").find(",ro,") != std::string::npos) inside.read_only.insert(point);
  }
  return inside;
}

std::string status_value(const std::string& status, const std::string& key) {
  for (const std::string& line : lines(status)) {
    if (line.rfind(key + ":\t", 0) == 0) return line.substr(key.size() + 2);
  }
  return "?";
}

void check_mounts(const json& plan, const Inside& inside) {
  std::map<std::string, json> told;  // by target, the last
  for (const json& mount : plan["mounts"])
    told[mount["target"]] = mount;
  for (const auto& row : told) {
    const std::string& target = row.first;
    const json& mount = row.second;
    CAPTURE(target);
    if (!mount["optional"]) CHECK(inside.points.count(target) == 1);
    if (inside.points.count(target) == 0) continue;
    const bool writable = mount["writes"] != "none";
    CHECK((inside.read_only.count(target) == 0) == writable);
  }
  for (const std::string& point : inside.points) {
    CAPTURE(point);
    CHECK(told.count(point) == 1);
  }
}

// The row "NAME TYPE MODE SIZE" of each entry that was asked for.
void check_entries(const json& plan, const Run& work, const Words& options) {
  Words look = {"/bin/sh", "-c", "stat -c '%n %F %a %s' \"$@\"; readlink -n \"$@\"", "sh"};
  for (const json& entry : plan["entries"])
    look.push_back(entry["target"]);
  if (look.size() == 4) return;
  Run again(options, look);
  again.command.cwd(work.project().path());
  const Ended ended = again.end();
  CAPTURE(ended.out);
  for (const json& entry : plan["entries"]) {
    const std::string name = entry["target"];
    CAPTURE(name);
    std::string row = name + " ";
    if (entry["kind"] == "symlink") {
      CHECK(contains(ended.out, row + "symbolic link "));
      CHECK(contains(ended.out, "\n" + entry["points_to"].get<std::string>()));
      continue;
    }
    row += entry["kind"] == "file" ? "regular file " : "directory ";
    if (!entry["keeps_mode"] || entry["kind"] == "file") {
      std::ostringstream mode;
      mode << std::oct << entry["mode"].get<unsigned>() << " ";
      row += mode.str();
      if (entry["kind"] == "file") row += std::to_string(entry["size"].get<std::size_t>()) + "\n";
    }
    CHECK(contains(ended.out, row));
  }
}

void check_rights(const json& plan, const std::string& status, const std::string& uid_map) {
  const bool keeps = !plan["rights"]["capabilities"].empty();
  CHECK((status_value(status, "CapEff") != "0000000000000000") == keeps);
  CHECK(status_value(status, "NoNewPrivs") == "1");
  CHECK(status_value(status, "Seccomp") == "2");
  std::istringstream map(uid_map);
  std::uint64_t first = 0, outside = 0, count = 0;
  map >> first >> outside >> count;
  const json& told = plan["ids"]["uids"][0];
  CHECK(told["inside"] == first);
  CHECK(told["count"] == count);
  if (!told["outside"].is_null()) CHECK(told["outside"] == outside);
}

// How /proc/PID/limits calls them.
const std::map<std::string, std::string> kLimitRows = {{"as", "Max address space"},
                                                       {"core", "Max core file size"},
                                                       {"cpu", "Max cpu time"},
                                                       {"data", "Max data size"},
                                                       {"fsize", "Max file size"},
                                                       {"memlock", "Max locked memory"},
                                                       {"msgqueue", "Max msgqueue size"},
                                                       {"nofile", "Max open files"},
                                                       {"nproc", "Max processes"},
                                                       {"rttime", "Max realtime timeout"},
                                                       {"sigpending", "Max pending signals"},
                                                       {"stack", "Max stack size"}};

std::uint64_t limit_value(const std::string& text) {
  return text == "unlimited" ? UINT64_MAX : std::stoull(text);
}

void check_limits(const json& plan, const std::string& limits) {
  const json& told = plan["limits"]["rlimits"];
  CHECK(told.count("core") == 1);
  CHECK(told.count("nproc") == 1);
  for (const auto& row : told.items()) {
    CAPTURE(row.key());
    REQUIRE(kLimitRows.count(row.key()) == 1);
    const std::string& words = kLimitRows.at(row.key());
    bool found = false;
    for (const std::string& line : lines(limits)) {
      if (line.rfind(words + "  ", 0) != 0) continue;
      found = true;
      std::istringstream rest(line.substr(words.size()));
      std::string soft, hard;
      rest >> soft >> hard;
      CHECK(row.value()["soft"] == limit_value(soft));
      CHECK(row.value()["hard"] == limit_value(hard));
    }
    CHECK(found);
  }
}

// /tmp is an overlay, whose size is that of the file system that its writes go to; a directory on
// disk has another's.
void check_layer(const json& plan, const json& result, const std::string& size) {
  for (const json& note : result["notes"])
    if (note["what"] == "layer") return;
  std::istringstream words(size);
  std::uint64_t blocks = 0, block = 0, inodes = 0;
  words >> blocks >> block >> inodes;
  const std::uint64_t wanted = plan["limits"]["layer_bytes"];
  CHECK(blocks == wanted / block);
  CHECK(plan["limits"]["layer_inodes"] == inodes);
}

// A layer on disk gets the sandbox's id as its name, in the directory that the plan has.
json without_layer_name(json notes) {
  for (json& note : notes) {
    if (note["what"] != "layer") continue;
    std::string how = note["how"];
    const std::size_t end = how.find_first_of(",:", how.find(", in /") + 2);
    const std::size_t name = how.rfind('/', end);
    note["how"] = how.erase(name, end - name);
  }
  return notes;
}

void check_environment(const json& plan, const std::string& environ) {
  std::set<std::string> told(plan["environment"].begin(), plan["environment"].end());
  std::set<std::string> inside;
  for (const std::string& line : lines(environ))
    inside.insert(line.substr(0, line.find('=')));
  // What the shell adds by itself.
  for (const char* own : {"PWD", "OLDPWD", "SHLVL", "_"})
    inside.erase(own);
  CHECK(told == inside);
}

// The entries below a directory, with their inodes.
std::set<std::string> entries_of(const std::string& directory) {
  std::set<std::string> entries;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored))
    entries.insert(entry.path());
  return entries;
}

}  // namespace

TEST_CASE("what explain says of mounts, limits, rights and the environment is found inside") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    const Words task = {"/bin/sh", "-c", kLook};
    const Run work(kind.options, task);
    Words options = {"--ro", targets_path() + ":/targets"};  // every run of the harness has it
    options.insert(options.end(), kind.options.begin(), kind.options.end());
    const json plan = explained(work, options, task);
    const Ended ended = work.end();
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    const std::vector<std::string> parts = parts_of(ended.out);
    REQUIRE(parts.size() == 6);
    check_mounts(plan, mounts_inside(parts[0]));
    check_entries(plan, work, kind.options);
    check_rights(plan, parts[1], parts[4]);
    check_limits(plan, parts[2]);
    check_environment(plan, parts[3]);
    const std::vector<std::string> rest = lines(parts[5]);
    REQUIRE(rest.size() == 5);
    CHECK(plan["directory"] == rest[0]);
    CHECK(plan["hostname"] == rest[1]);
    CHECK(plan["umask"] == std::stoul(rest[2], nullptr, 8));
    CHECK(plan["user"]["uid"] == std::stoul(rest[3]));
    check_layer(plan, ended.result, rest[4]);
    CHECK(plan["policy"] == ended.result["policy"]);
    CHECK(plan["notes"] == without_layer_name(ended.result["notes"]));
  }
}

TEST_CASE("to explain makes nothing: no registry, no cgroup, no file that is named") {
  const TempDir runtime;
  const TempDir project;
  const std::string result = project / "result.json";
  Command command(explain_words({"--result", result, "--name", "explained"}, {"true"}));
  command.cwd(project.path());
  command.env("XDG_RUNTIME_DIR", runtime.path());
  const std::set<std::string> cgroups = entries_of("/sys/fs/cgroup/unified");
  const Finished finished = command.run();
  CHECK(finished.code == 0);
  CHECK(!exists(result));
  CHECK(entries_of(runtime.path()).empty());
  for (const std::string& name : entries_of("/sys/fs/cgroup/unified"))
    CHECK(name.find("explained") == std::string::npos);
}

TEST_CASE("explain refuses what run refuses, in the same words") {
  const auto both = [](const Words& options) {
    Words run_words = {mayfly_path(), "run"};
    run_words.insert(run_words.end(), options.begin(), options.end());
    Words explain = {mayfly_path(), "explain"};
    explain.insert(explain.end(), run_words.begin() + 1, run_words.end());
    const Finished ran = Command(run_words).run();
    const Finished told = Command(explain).run();
    CAPTURE(joined(options));
    CHECK(ran.code == 125);
    CHECK(told.code == 125);
    CHECK(told.err == ran.err);
    CHECK(told.out.empty());
  };
  both({"--ttl", "10x", "true"});
  both({"--no-such-option", "true"});
  both({"--ro", "/no/such/tree", "true"});
  both({"--root", "/no/such/root", "true"});
  both({"--rw", "/tmp:/x", "--unsafe-sockets", "--file", "/x/made=1", "true"});
  const TempDir live;
  const std::string missing = live / "missing";
  both({"--rw", live.path(), "--tmpfs", missing, "true"});
  both({"--rw", live.path(), "--ro", "/usr/share:" + missing, "true"});
  both({"--rw", live.path(), "--cow", "/usr/share:" + missing, "true"});
  both({"--ro", live.path(), "--tmpfs", missing, "true"});
  both({"--ro", live.path(), "--rw", "/usr/share:" + missing, "--unsafe-sockets", "true"});
  both({"--ro", live.path(), "--cow", "/usr/share:" + missing, "true"});
  both({"--ro", live.path(), "--file", missing + "=text", "true"});
  const std::string link = live / "link";
  std::filesystem::create_directory_symlink(live.dir("real"), link);
  for (const char* tree : {"--ro", "--rw", "--cow"}) {
    both({"--cow", live.path(), tree, link, "true"});
    both({"--cow", live.path(), tree, "/usr/share/man:" + link, "true"});
  }
  both({"--tmpfs", "/proc", "true"});
  both({"--stdin", live.path(), "true"});
  REQUIRE(::mknod((live / "socket").c_str(), S_IFSOCK | 0600, 0) == 0);
  both({"--stdin", live / "socket", "true"});
  both({"--ro", live.path() + ":/l", "--symlink", "/l=x", "true"});
  both({"--dir", "/d:4755", "true"});
  both({"--status-fd", "9", "true"});
  both({"--control-fd", "9", "true"});
  both({"--control-fd", "2", "true"});
  both({"--result", "/no/such/directory/result", "true"});
  both({"--result", "/", "true"});
  if (kernel_is_older_than(6, 6)) both({"--layer", "memory", "true"});
  both({});
}

namespace {

// Every limit with a value that no other has.
const Words kEachLimit = {"--ttl",        "61s", "--ttl-max",      "62s",
                          "--idle",       "63s", "--cpu-time",     "64s",
                          "--grace",      "3s",  "--max-output",   "65K",
                          "--layer-size", "66M", "--layer-inodes", "6700",
                          "--pids",       "68",  "--rlimit",       "nofile=69:70"};

}  // namespace

TEST_CASE("explain tells each limit that was asked for, and where each tree comes from") {
  const Run work({}, {});
  Words options = kEachLimit;
  options.insert(options.end(), {"--ro", "/usr/share:/shared", "--tmpfs", "/scratch:size=1M"});
  const json plan = explained(work, options, {"true"});
  const json& limits = plan["limits"];
  CHECK(limits["ttl_ns"] == 61'000'000'000);
  CHECK(limits["ttl_max_ns"] == 62'000'000'000);
  CHECK(limits["idle_ns"] == 63'000'000'000);
  CHECK(limits["cpu_time_ns"] == 64'000'000'000);
  CHECK(limits["grace_ns"] == 3'000'000'000);
  CHECK(limits["max_output_bytes"] == 65 << 10);
  CHECK(limits["layer_bytes"] == 66 << 20);
  CHECK(limits["layer_inodes"] == 6700);
  CHECK(limits["layer"] == (kernel_is_older_than(6, 6) ? "disk" : "memory"));
  CHECK(limits["rlimits"]["nproc"]["hard"] == 68);
  CHECK(limits["rlimits"]["nofile"] == json{{"soft", 69}, {"hard", 70}});
  for (const json& mount : plan["mounts"]) {
    if (mount["target"] == "/shared") CHECK(mount["sources"] == json{"/usr/share"});
    if (mount["target"] == "/scratch") CHECK(mount["size"] == 1 << 20);
    const bool is_tree = mount["kind"] == "overlay" || mount["kind"] == "bind";
    if (is_tree) CHECK(!mount["sources"].empty());
  }
  const json stock = explained(work, {}, {"true"});
  for (const char* none : {"ttl_max_ns", "idle_ns", "cpu_time_ns", "max_output_bytes"})
    CHECK(stock["limits"][none].is_null());
}

TEST_CASE("explain's text has every mount, variable and limit of its JSON") {
  const Run work({}, {});
  Words options = kEachLimit;
  options.insert(options.end(),
                 {"--ro", "/usr/share:/shared", "--tmpfs", "/scratch:size=1M", "--mask", "/shared",
                  "--env", "FIRST=1", "--env", "LAST=2", "--umask", "027", "--layer", "disk"});
  const json plan = explained(work, options, {"true"});
  Words words = {mayfly_path(), "explain", "run"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("true");
  Command command(words);
  command.cwd(work.project().path());
  const std::string text = command.run().out;
  CAPTURE(text);
  std::multiset<std::string> said;
  std::istringstream stream(text);
  for (std::string word; stream >> word;)
    said.insert(word.substr(0, word.find(',')));
  for (const json& mount : plan["mounts"]) {
    const std::string target = mount["target"];
    CAPTURE(target);
    CHECK(said.count(target) >= 1);
  }
  CHECK(said.count("/shared") == 2);  // shown, and hidden
  for (const json& name : plan["environment"])
    CHECK(said.count(name.get<std::string>()) >= 1);
  for (const char* limit : {"61s", "62s", "63s", "64s", "3s", "65K", "66M", "6700", "1M", "027"}) {
    CAPTURE(limit);
    CHECK(said.count(limit) >= 1);
  }
  CHECK(contains(text, "nproc 68\n"));
  CHECK(contains(text, "nofile 69, at most 70\n"));
  CHECK(contains(text, "files at most, on disk in "));
}

TEST_CASE("explain's text tells as hidden what is, and not what is shown over a mask") {
  const TempDir host;
  host.file("one", "one");
  const auto hidden = [&](const Words& options) {
    Words words = {mayfly_path(), "explain", "run"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("true");
    const std::string text = Command(words).run().out;
    const std::size_t at = text.find("  hidden:");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('\n', at) - at) + " ";
  };
  const std::string tree = host.path() + ":/x";
  CHECK(contains(hidden({"--ro", tree, "--mask", "/x/one"}), " /x/one "));
  CHECK_FALSE(contains(hidden({"--mask", "/x/one", "--ro", tree}), " /x/one "));
  CHECK(contains(hidden({"--mask", "/x/one", "--ro", tree}), " /proc/keys "));
}

TEST_CASE("explain wants the verb whose plan it shows") {
  const Finished none = Command({mayfly_path(), "explain"}).run();
  CHECK(none.code == 125);
  CHECK(contains(none.err, "no verb was given"));
  const Finished other = Command({mayfly_path(), "explain", "gc"}).run();
  CHECK(other.code == 125);
  CHECK(contains(other.err, "only run has a plan"));
}

TEST_CASE("explain names the groups of system calls, and those that are opened as a weakness") {
  const Run work({}, {"true"});
  const auto has = [](const json& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  const json stock = explained(work, {}, {"true"});
  CHECK(has(stock["rights"]["allowed_groups"], "process"));
  CHECK(has(stock["rights"]["refused_groups"], "io_uring"));
  CHECK(stock["unsafe"].empty());
  const Words options = {"--allow-syscalls", "io_uring,numa", "--deny-syscalls", "ipc"};
  const json chosen = explained(work, options, {"true"});
  CHECK(has(chosen["rights"]["allowed_groups"], "io_uring"));
  CHECK(has(chosen["rights"]["refused_groups"], "ipc"));
  CHECK(chosen["unsafe"] == json::array({"--allow-syscalls io_uring"}));  // numa is allowed anyway
  const std::string policy = work.project().file("p.toml", "[syscalls]\nallow = ['io_uring']\n");
  CHECK(explained(work, {"-p", policy}, {"true"})["unsafe"] == chosen["unsafe"]);
  const Finished text =
      Command({mayfly_path(), "explain", "run", "--allow-syscalls", "io_uring", "true"}).run();
  CHECK(contains(text.out, "This weakens the isolation: --allow-syscalls io_uring\n"));
  CHECK(contains(text.out, "groups of them that are refused: "));
}

TEST_CASE("explain's text names each weakness and each downgrade") {
  const Run work({"--keep-caps", "--project", "rw"}, {"true"});
  Command command({mayfly_path(), "explain", "run", "--keep-caps", "--project", "rw", "true"});
  command.cwd(work.project().path());
  const Finished finished = command.run();
  CHECK(finished.code == 0);
  CHECK(contains(finished.out, "This weakens the isolation: --keep-caps"));
  CHECK(contains(finished.out, "LIVE: the host's itself, writes change the host"));
  CHECK(contains(finished.out, "pids: RLIMIT_NPROC 512"));
  const Finished made = Command({mayfly_path(), "explain", "run", "--file", "/f:600=12345",
                                 "--symlink", "/l=/f", "true"})
                            .run();
  CHECK(contains(made.out, "a file of 5 bytes, mode 0600"));
  CHECK(contains(made.out, "a symbolic link to /f"));
}
