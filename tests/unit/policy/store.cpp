// Policies: where they are found, who may have written them, how they extend each other.
#include "policy/store.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "policy/effective.hpp"
#include "policy/programs.hpp"
#include "policy/stock.hpp"

using namespace mayfly;
using policy::load_policy;

namespace {

// A directory of the user's, one of the system's, and a project.
class Place {
 public:
  Place() {
    std::string name = "/tmp/mayfly-store-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
    for (const char* part : {"user", "etc", "project"})
      std::filesystem::create_directory(root_ + "/" + part);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::filesystem::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const std::string path = root_ + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return root_ + "/" + name; }
  [[nodiscard]] policy::Store store() const {
    return {.working_dir = root_ + "/project",
            .directories = {root_ + "/user", root_ + "/etc"},
            .uid = uid};
  }
  uid_t uid = ::geteuid();  // who asks, as far as the store knows
  [[nodiscard]] Result<spec::Spec> spec(const std::string& name) const {
    spec::Draft draft;
    const policy::Policy policy = TRY(load_policy(store(), name));
    TRY(policy::apply_policy(draft, policy));
    return draft.spec;
  }
  [[nodiscard]] std::string complaint(const std::string& name) const {
    const Result<spec::Spec> spec = this->spec(name);
    REQUIRE_FALSE(spec);
    std::string text = describe(spec.error());
    for (std::size_t at = 0; (at = text.find(root_)) != std::string::npos;)
      text.replace(at, root_.size(), "ROOT");
    return text;
  }

 private:
  std::string root_;
};

}  // namespace

TEST_CASE("the stock policy says what holds without it") {
  const Place place;
  CHECK((*place.spec("default") == spec::Spec()));
}

TEST_CASE("a draft says which policies it is made of, the one that was asked for first") {
  const Place place;
  const std::string own = place.write("user/strict.toml", "extends = 'strict'\n");
  const std::string file = place.write("project/ci.toml", "extends = 'strict'\n");
  const std::vector<spec::PolicySource> wanted = {{.name = "ci", .file = file},
                                                  {.name = "strict", .file = own},
                                                  {.name = "strict", .file = {}},
                                                  {.name = "default", .file = {}}};
  spec::Draft draft;
  const Result<policy::Policy> policy = load_policy(place.store(), "./ci.toml");
  REQUIRE(policy);
  REQUIRE(policy::apply_policy(draft, *policy));
  CHECK((draft.policies == wanted));
}

TEST_CASE("every stock policy is good, for every variant") {
  const Place place;
  CHECK(policy::stock_policies().size() == 3);
  for (const policy::StockPolicy& stock : policy::stock_policies()) {
    CAPTURE(stock.name);
    Result<spec::Spec> spec = place.spec(stock.name);
    REQUIRE(spec);
    spec->argv = {"true"};
    CHECK(spec::validate(*spec));
    for (std::size_t i = 0; i < policy::kVariants; ++i) {
      const auto programs = policy::programs_for(spec->syscalls, static_cast<policy::Stock>(i));
      REQUIRE(programs);
      CHECK(programs->task.empty());
    }
  }
  CHECK(place.spec("strict")->project == spec::ProjectMode::Ro);
  CHECK(place.spec("build")->limits.pids == 8192);
}

TEST_CASE("a name is looked for in the user's directory, the system's, and among the stock ones") {
  const Place place;
  place.write("etc/a.toml", "pids = 9\n");
  CHECK(place.spec("a")->limits.pids == 9);
  place.write("user/a.toml", "pids = 2\n");
  CHECK(place.spec("a")->limits.pids == 2);
  place.write("project/a.toml", "pids = 3\nmounts = [ { ro = 'x' } ]\n");
  CHECK(place.spec("./a.toml")->limits.pids == 3);
  CHECK(place.spec("./a.toml")->fs.at(0).source == place / "project/x");
  CHECK(place.complaint("strikt").find("there is none of this name") != std::string::npos);
  CHECK(load_policy(place.store(), "strikt").error().hint == "did you mean strict?");
  CHECK(place.complaint("../a").find("ROOT/../a") == std::string::npos);
}

TEST_CASE("a policy goes on where the one that it extends ends, and the later one wins") {
  const Place place;
  place.write("etc/base.toml", "pids = 9\nttl = '5s'\nenv = [ { set = 'A=1' } ]\n");
  place.write("user/mine.toml", "extends = 'base'\npids = 2\nenv = [ { set = 'B=2' } ]\n");
  const Result<spec::Spec> spec = place.spec("mine");
  REQUIRE(spec);
  CHECK(spec->limits.pids == 2);
  CHECK(spec->ttl == std::chrono::seconds(5));
  CHECK(spec->env.size() == 2);
  CHECK(spec->env[0].name == "A");

  place.write("user/strict.toml", "extends = 'strict'\npids = 7\n");
  CHECK(place.spec("strict")->limits.pids == 7);
  CHECK(place.spec("strict")->project == spec::ProjectMode::Ro);
}

TEST_CASE("circles and chains that are too long are refused with their place") {
  const Place place;
  place.write("user/a.toml", "extends = 'b'\n");
  place.write("user/b.toml", "\nextends = 'a'\n");
  CHECK(place.complaint("a") ==
        "cannot read ROOT/user/b.toml:2:11: extends: cannot use the policy "
        "ROOT/user/a.toml: it extends itself");
  place.write("user/self.toml", "extends = './self.toml'\n");
  CHECK(place.complaint("self").find("it extends itself") != std::string::npos);
  place.write("user/mine.toml", "extends = 'mine'\n");
  CHECK(place.complaint("mine") ==
        "cannot read ROOT/user/mine.toml:1:11: extends: cannot use another policy mine: there is "
        "none");
  place.write("user/lost.toml", "extends = 'nowhere'\n");
  CHECK(place.complaint("lost") ==
        "cannot read ROOT/user/lost.toml:1:11: extends: cannot use the "
        "policy nowhere: there is none of this name");
  place.write("user/gone.toml", "extends = './gone/x.toml'\n");
  CHECK(
      place.complaint("gone").starts_with("cannot read ROOT/user/gone.toml:1:11: extends: cannot "
                                          "read the policy ROOT/user/gone/x.toml"));
  place.write("user/wrong.toml", "ttl = '5x'\n");
  place.write("user/on_wrong.toml", "extends = 'wrong'\n");
  CHECK(place.complaint("on_wrong").starts_with("cannot read ROOT/user/wrong.toml:1:7: ttl: "));
  for (int i = 0; i < 20; ++i)
    place.write("user/n" + std::to_string(i) + ".toml",
                "extends = 'n" + std::to_string(i + 1) + "'\n");
  CHECK(place.complaint("n0").find("more than 16 extend each other") != std::string::npos);
}

TEST_CASE("what others could have written is refused") {
  const Place place;
  place.write("user/a.toml", "pids = 9\n", 0666);
  CHECK(place.complaint("a").find("trust the policy") != std::string::npos);
  place.write("user/a.toml", "pids = 9\n", 0664);
  CHECK(place.spec("a").operator bool() == (::geteuid() != 0));
  place.write("user/a.toml", "pids = 9\n", 0644);
  CHECK(place.spec("a"));
  ::chmod((place / "user").c_str(), 0777);
  CHECK(place.complaint("a").find("others can replace it") != std::string::npos);
  ::chmod((place / "user").c_str(), 01777);
  CHECK(place.spec("a"));
  if (::geteuid() != 0) return;
  REQUIRE(::chown((place / "user/a.toml").c_str(), 1234, 0) == 0);
  CHECK(place.complaint("a").find("belongs to user 1234") != std::string::npos);
  // Naming the file does not vouch for who owns it.
  CHECK(place.complaint(place / "user/a.toml").find("belongs to user 1234") != std::string::npos);
  ::chmod((place / "user").c_str(), 0755);
  CHECK(place.complaint("a").find("belongs to user 1234") != std::string::npos);
}

TEST_CASE("every directory on the way to a policy is looked at, and those of links") {
  const Place place;
  std::filesystem::create_directories(place / "open/below");
  place.write("open/real.toml", "pids = 8\n");
  place.write("open/below/real.toml", "pids = 9\n");
  ::chmod((place / "open").c_str(), 0777);
  const auto link = [&](const std::string& target, const std::string& name) {
    REQUIRE(::symlink(target.c_str(), (place / name).c_str()) == 0);
  };
  link("../open/real.toml", "user/relative.toml");
  link(place / "open/below/real.toml", "user/absolute.toml");
  link("absolute.toml", "user/twice.toml");
  link("../open/below", "user/way");
  place.write("user/base.toml", "extends = '../open/real.toml'\n");
  place.write("user/byname.toml", "extends = 'relative'\n");
  const std::string why = "others can replace it, since they can write the directory ROOT/open";
  for (const std::string name :
       {"relative", "absolute", "twice", "base", "byname", "../user/relative.toml",
        "../open/real.toml", "../open/below/real.toml", "../user/way/real.toml"}) {
    CAPTURE(name);
    CHECK(place.complaint(name).find(why) != std::string::npos);
  }
  ::chmod((place / "open").c_str(), 01777);
  for (const std::string name : {"relative", "absolute", "twice", "base", "byname",
                                 "../open/below/real.toml", "../user/way/real.toml"}) {
    CAPTURE(name);
    CHECK(place.spec(name));
  }
  link("circle.toml", "user/circle.toml");
  CHECK(place.complaint("circle").find("ELOOP") != std::string::npos);
}

TEST_CASE("to root a foreign owner is somebody who can replace a policy") {
  if (::geteuid() != 0) return;
  const Place place;
  std::filesystem::create_directories(place / "theirs/below");
  place.write("theirs/below/real.toml", "pids = 8\n");
  REQUIRE(::symlink("../theirs/below/real.toml", (place / "user/l.toml").c_str()) == 0);
  REQUIRE(::chown((place / "theirs").c_str(), 1234, 0) == 0);
  const std::string owns = "user 1234 can replace it, who owns the directory ROOT/theirs";
  CHECK(place.complaint("l").find(owns) != std::string::npos);
  CHECK(place.complaint("../theirs/below/real.toml").find(owns) != std::string::npos);
  REQUIRE(::chown((place / "theirs").c_str(), 0, 0) == 0);
  CHECK(place.spec("l"));
  ::chmod((place / "theirs").c_str(), 0775);
  CHECK(place.complaint("l").find("others can replace it") != std::string::npos);
  // What is in a sticky directory can be replaced by whoever owns it.
  ::chmod((place / "theirs").c_str(), 01777);
  REQUIRE(::chown((place / "theirs/below").c_str(), 1234, 0) == 0);
  CHECK(place.complaint("l").find("to whom ROOT/theirs/below belongs") != std::string::npos);
  REQUIRE(::chown((place / "theirs/below").c_str(), 0, 0) == 0);
  CHECK(place.spec("l"));
  ::chmod((place / "user").c_str(), 01777);
  REQUIRE(::lchown((place / "user/l.toml").c_str(), 1234, 0) == 0);
  CHECK(place.complaint("l").find("to whom ROOT/user/l.toml belongs") != std::string::npos);
}

TEST_CASE("who may write a policy: to root nobody else, to others their group") {
  Place place;
  const auto is_trusted = [&](uid_t uid, const char* directory, mode_t file, mode_t around) {
    place.uid = uid;
    place.write(std::string(directory) + "/a.toml", "pids = 9\n", file);
    REQUIRE(::chmod((place / directory).c_str(), around) == 0);
    const bool trusted = place.spec("a").operator bool();
    CHECK(trusted == place.spec(place / directory + "/a.toml").operator bool());
    return trusted;
  };
  for (const uid_t uid : {uid_t{0}, ::geteuid() != 0 ? ::geteuid() : 1234}) {
    CAPTURE(uid);
    const bool by_root = uid == 0;
    if (by_root && ::geteuid() != 0) continue;  // the file belongs to an ordinary user
    CHECK(is_trusted(uid, "user", 0644, 0755));
    CHECK(is_trusted(uid, "user", 0664, 0755) == !by_root);
    CHECK_FALSE(is_trusted(uid, "user", 0646, 0755));
    CHECK(is_trusted(uid, "user", 0644, 0775) == !by_root);
    CHECK_FALSE(is_trusted(uid, "user", 0644, 0757));
  }
}

TEST_CASE("who owns the directory of a policy could replace it") {
  if (::geteuid() != 0) return;
  Place place;
  place.write("user/a.toml", "pids = 9\n");
  REQUIRE(::chown((place / "user").c_str(), 1234, 0) == 0);
  for (const uid_t uid : {uid_t{0}, uid_t{1000}}) {
    place.uid = uid;
    CHECK(place.complaint("a") ==
          "cannot trust the policy ROOT/user/a.toml: user 1234 can replace it, who owns the "
          "directory ROOT/user");
    CHECK_FALSE(place.spec(place / "user/a.toml"));
  }
  place.uid = 1234;
  CHECK(place.spec("a"));
}

TEST_CASE("what is no policy is refused") {
  const Place place;
  std::filesystem::create_directory(place / "user/dir.toml");
  REQUIRE(::mkfifo((place / "user/fifo.toml").c_str(), 0644) == 0);
  CHECK(place.complaint("dir") == "cannot read the policy ROOT/user/dir.toml: it is a directory");
  CHECK(place.complaint("fifo") ==
        "cannot read the policy ROOT/user/fifo.toml: it is no regular file");
  place.write("user/big.toml", std::string(10u << 20, '\n'));
  CHECK(place.complaint("big") == "cannot read ROOT/user/big.toml: it is longer than 1 MiB");
  place.write("user/bytes.toml", "# \xff");
  CHECK(place.complaint("bytes") == "cannot read ROOT/user/bytes.toml:1:3: this byte is not UTF-8");
  place.write("user/fd.toml", "status-fd = 3\n");
  CHECK(place.complaint("fd") ==
        "cannot read ROOT/user/fd.toml:1:1: status-fd has no place in a policy");
  place.write("user/base.toml", "extends = 5\n");
  CHECK(place.complaint("base") ==
        "cannot read ROOT/user/base.toml:1:11: extends must be a string and is an integer");
  place.write("user/list.toml", "extends = ['default']\n");
  CHECK(place.complaint("list") ==
        "cannot read ROOT/user/list.toml:1:11: extends must be a string and is an array");
  place.write("user/double.toml", "pids = 9\nttl = 5\npids = 9\n");
  CHECK(place.complaint("double").find("ROOT/user/double.toml:3:") != std::string::npos);
  place.write("user/group.toml", "[syscalls]\ndeny = ['debuging']\n");
  CHECK(place.complaint("group") ==
        "cannot read ROOT/user/group.toml:2:9: unknown group of system calls debuging");
  place.write("user/twice.toml", "[syscalls]\ndeny = ['ipc']\nallow = ['ipc']\n");
  CHECK(place.complaint("twice") ==
        "cannot read ROOT/user/twice.toml:3:10: the group ipc is named twice");
  place.write("user/init.toml", "[syscalls]\nallow = ['ipc', 'core_limit']\n");
  CHECK(place.complaint("init").starts_with(
      "cannot read ROOT/user/init.toml:2:17: cannot allow the system calls core_limit: "));
}

TEST_CASE("what is no policy is told with a remedy") {
  const Place place;
  const auto hint = [&](const std::string& name) {
    const Result<policy::Policy> policy = load_policy(place.store(), name);
    REQUIRE_FALSE(policy);
    return policy.error().hint;
  };
  REQUIRE(::symlink("loop.toml", (place / "user/loop.toml").c_str()) == 0);
  REQUIRE(::symlink("gone", (place / "user/lost.toml").c_str()) == 0);
  place.write("user/base.toml", "extends = 5\n");
  place.write("user/twice.toml", "[syscalls]\ndeny = ['ipc', 'ipc']\n");
  CHECK(hint("loop") == "its symbolic links go in circles: name the file itself");
  const std::string missing =
      "there is nothing of this name, or where its symbolic links lead: check the spelling";
  CHECK(hint("lost") == missing);
  CHECK(hint("./nope.toml") == missing);
  CHECK(hint("base") == "write it in quotes: \"5\"");
  CHECK(hint("twice") == "leave it out in one of the places");
  if (::geteuid() != 0) {
    place.write("user/closed.toml", "pids = 9\n", 0000);
    CHECK(hint("closed").starts_with("the caller's own rights do not suffice"));
  }
}

TEST_CASE("a pipe is no policy, and the reason is told") {
  const Place place;
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
  const Result<policy::Policy> policy = load_policy(place.store(), path);
  ::close(ends[0]);
  ::close(ends[1]);
  REQUIRE_FALSE(policy);
  CHECK(describe(policy.error()) == "cannot read the policy " + path + ": it is no regular file");
  CHECK(policy.error().hint ==
        "name a file that ends in .toml; what comes from a pipe can be read as --spec");
}

TEST_CASE("what a policy comes to is told with where it was said") {
  const Place place;
  place.write("etc/base.toml", "ttl = '5s'\nenv = [ { set = 'A=1' } ]\n[syscalls]\ndeny = ['ipc']");
  place.write("user/mine.toml", "extends = 'base'\nttl = '6s'\n[syscalls]\nallow = ['ipc']\n");
  spec::Draft draft;
  const auto values = policy::effective(draft, *load_policy(place.store(), "mine"));
  REQUIRE(values);
  std::string text;
  for (const policy::Value& value : *values) {
    if (value.origin.empty()) continue;
    text += policy::toml_of(value) + " <" + value.origin.substr(place.operator/("").size()) + ">";
  }
  CHECK(text ==
        "{ set = \"A=1\" } <etc/base.toml:2:17>ttl = \"6s\" <user/mine.toml:2:7>"
        "\"ipc\" <user/mine.toml:4:10>");
}

TEST_CASE("a policy is shown as a policy that comes to the same") {
  const Place place;
  // The end of a line in a file's name would end the comment that it stands in.
  place.write("user/m\nttl = 1.toml", "labels = { x = '\\u007f', y = \"\\u007f\\n\" }\npids = 7\n");
  const std::string name = place / "user/m\nttl = 1.toml";
  spec::Draft draft;
  const policy::Policy loaded = *load_policy(place.store(), name);
  const auto values = policy::effective(draft, loaded);
  REQUIRE(values);
  place.write("user/shown.toml", policy::write_toml(loaded, *values));
  spec::Draft again;
  const auto shown = policy::effective(again, *load_policy(place.store(), "shown"));
  INFO((shown ? std::string() : describe(shown.error())));
  REQUIRE(shown);
  CHECK((again.spec == draft.spec));
  CHECK(again.spec.labels.at(1).second == "\x7f\n");
  CHECK(std::equal(values->begin(), values->end(), shown->begin(), shown->end(),
                   [](const auto& a, const auto& b) { return a.says_the_same(b); }));
}
