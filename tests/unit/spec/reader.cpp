// Documents as settings: each key by its form, and what is refused, where, with which remedy.
#include "spec/reader.hpp"

#include <doctest/doctest.h>

#include <string>

#include "spec/document_hint.hpp"
#include "spec/setting_table.hpp"

using namespace mayfly;
using namespace mayfly::spec;

namespace {

Result<Spec> read(const std::string& text, DocumentKind kind = DocumentKind::Spec) {
  const Document document = TRY(parse_document("f", text));
  const std::vector<Assignment> assignments = TRY(read_settings(document, kind, {"extends"}));
  Draft draft;
  draft.working_dir = "/dir";
  TRY(apply_settings(draft, document, assignments));
  return draft.spec;
}

std::string complaint(const std::string& text, DocumentKind kind = DocumentKind::Spec) {
  const Result<Spec> spec = read(text, kind);
  REQUIRE_FALSE(spec);
  CHECK(spec.error().kind == ErrorKind::Usage);
  return spec.error().action + "; " + spec.error().hint;
}

}  // namespace

TEST_CASE("a document sets what options set") {
  const Result<Spec> spec = read(
      "command = ['make', 'test']\nttl = 90\ngrace = '1s'\nlinger = true\nquiet = false\n"
      "layer-size = '1G'\ncpus = '0.5'\nrlimits = { nofile = 64 }\nproject = 'ro:sub'\numask = "
      "'077'\nextends = 'x'\n"
      "mounts = [ { ro = '../srv:/data' }, { mask = '/x' }, { tmpfs = '/t:size=1M' } ]\n"
      "env = [ { set = 'A=1' }, { pass = 'LC_*' }, { pass = 'TZ' } ]\n"
      "[labels]\nz = '1'\na = '2'\n");
  INFO((spec ? std::string() : describe(spec.error())));
  REQUIRE(spec);
  Spec expected;
  expected.argv = {"make", "test"};
  expected.ttl = std::chrono::seconds(90);
  expected.grace = std::chrono::seconds(1);
  expected.linger = true;
  expected.limits.layer_bytes = 1u << 30;
  expected.limits.cpu_thousandths = 500;
  expected.limits.resources = {{.name = "nofile", .soft = 64, .hard = 64}};
  expected.project = ProjectMode::Ro;
  expected.project_is_asked = true;
  expected.project_dir = "/dir/sub";
  expected.umask = 077;
  expected.fs = {{.kind = FsKind::Ro, .source = "/srv", .target = "/data"},
                 {.kind = FsKind::Mask, .target = "/x"},
                 {.kind = FsKind::Tmpfs, .target = "/t", .size = 1u << 20}};
  expected.env = {{.kind = EnvKind::Set, .name = "A", .value = "1"},
                  {.kind = EnvKind::PassPattern, .name = "LC_*"},
                  {.kind = EnvKind::PassName, .name = "TZ"}};
  expected.labels = {{"z", "1"}, {"a", "2"}};
  CHECK(*spec == expected);
}

TEST_CASE("what a document cannot say is refused with place and remedy") {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"ttl = '5m'\npidz = 4", "read f:2:1: unknown key pidz; did you mean pids?"},
      {"qqqqqqqqqq = 4",
       "read f:1:1: unknown key qqqqqqqqqq; the keys are the long options of mayfly run; "
       "mayfly-policy(5) lists them"},
      {"ro = '/x'", "read f:1:1: unknown key ro; write it mounts = [ { ro = \"…\" } ]"},
      {"label = 'a=b'", "read f:1:1: unknown key label; write it labels = { name = \"value\" }"},
      {"linger = 'yes'",
       "read f:1:10: linger must be true or false and is a string; write true or false, "
       "without quotes"},
      {"umask = 22",
       "read f:1:9: umask must be a string and is an integer; write it in quotes: "
       "\"22\""},
      {"pids = 1.5",
       "read f:1:8: pids: cannot read 1.5 as a number: .5 does not belong to a whole number; a "
       "whole number from 2 to 4194304"},
      {"{\"pids\": 1e30}",
       "read f:1:10: pids: cannot read 1000000000000000000000000000000 as a number: it is more "
       "than "
       "4194304; a whole number from 2 to 4194304"},
      {"{\"ttl\": 1e99}",
       "read f:1:9: this number is out of range; write it in digits, without an exponent"},
      {"ttl = inf",
       "read f:1:7: ttl must be a duration and is inf; write it as \"10m\", or as a number of "
       "seconds"},
      {"ttl = true",
       "read f:1:7: ttl must be a duration and is true; write it as \"10m\", or as a number of "
       "seconds"},
      {"ttl = 1.0000000001",
       "read f:1:7: ttl: cannot read 1.0000000001 as a duration: it is a fraction of a nanosecond; "
       "a number with ns, us, ms, s, m, h or d, like 300ms, 1.5h or 2d; without a unit it is "
       "seconds"},
      {"layer-size = 0.5",
       "read f:1:14: layer-size: cannot read 0.5 as a size: it is a fraction of a byte; a number "
       "with K, M, G or T (powers of 1024), like 64K or 1.5G; without a unit it is bytes"},
      {"{\"tty\": true}",
       "read f:1:9: tty must be a string and is true; write it \"auto\", \"yes\" or \"no\""},
      {"limits = 1",
       "read f:1:10: limits must be a string and is an integer; write it \"strict\" or "
       "\"best-effort\""},
      {"unsafe-ids = true",
       "read f:1:14: unsafe-ids must be a string and is true; write it \"host\""},
      {"project = false",
       "read f:1:11: project must be a string and is false; write one text, in quotes: "
       "cow|rw|ro|none[:DIR]"},
      {"cpus = 0.5555",
       "read f:1:8: cpus: cannot read 0.5555 as a number of processors: it has more than three "
       "decimals; a number with at most three decimals, like 2 or 0.5"},
      {"mounts = [ { mask = '/x' }, { rw = '/proc' } ]",
       "read f:1:36: mounts.rw: cannot show /proc inside: it belongs to a file system of the "
       "kernel "
       "(proc); the sandbox has its own /proc; copy what the task is to read with mounts.file"},
      {"mounts = [ { tmpfs = '/proc' } ]",
       "read f:1:22: mounts.tmpfs: cannot use /proc (--tmpfs) as a target: the sandbox needs its "
       "own "
       "/proc, to forbid user namespaces inside; choose another one; mounts.mask hides single "
       "entries "
       "of /proc"},
      {"root = '/proc'",
       "read f:1:8: root: cannot use /proc as a root directory: it belongs to a file system "
       "of the kernel (proc); unpack an image or archive into a directory, and name that"},
      {"pids = -1",
       "read f:1:8: pids: cannot read -1 as a number: a sign is not allowed; a whole number from 2 "
       "to 4194304"},
      {"ttl = '5x'",
       "read f:1:7: ttl: cannot read 5x as a duration: x is not a unit; a number with ns, us, ms, "
       "s, m, h or d, like 300ms, 1.5h or 2d; without a unit it is seconds"},
      {"hostname = 'a'\npids = 0\ngrace = 1",
       "read f:2:8: pids: cannot use 0 as a limit of processes: it is not from 2 to 4194304; the "
       "sandbox's init is one, the command the second; the default is 512; a build with many "
       "processes takes some thousands"},
      {"mounts = [ { dir = '/a' }, { dir = 'b' }, { dir = '/c' } ]",
       "read f:1:36: mounts.dir: cannot use b as a path inside: it is not absolute; write it from "
       "/ on"},
      {"unsafe-ids = \"\\u001b[2J\"",
       "read f:1:14: unsafe-ids: cannot read \\x1b[2J: the only choice is host; write "
       "unsafe-ids = \"host\""},
      {"tty = 'x'",
       "read f:1:7: tty: cannot read x as a choice of terminal; write tty = \"auto\", tty = "
       "\"yes\" "
       "or tty = \"no\""},
      {"cpus = 0",
       "read f:1:8: cpus: cannot limit the processors to 0: the least is 0.01; write cpus = 1 for "
       "one, cpus = 0.5 for half of one"},
      {"rlimits = { nofile = '2:1' }",
       "read f:1:22: rlimits.nofile: cannot limit nofile: its soft limit is above its hard limit; "
       "write rlimits = { nofile = \"SOFT:HARD\" }, or one number for both"},
      {"rlimits = { nofile = 64.5 }",
       "read f:1:22: rlimits.nofile must be a string or a whole number and is a number with a "
       "fraction; a whole number from 0 to 9223372036854775807"},
      {"{\"rlimits\": {\"nofile\": true}}",
       "read f:1:24: rlimits.nofile must be a string or a whole number and is true; a whole number "
       "from 0 to 9223372036854775807"},
      {"umask = true",
       "read f:1:9: umask must be a string and is true; octal permission bits, like 644 or 0700"},
      {"layer-inodes = 9223372036854775807",
       "read f:1:16: layer-inodes: cannot read 9223372036854775807 as a number: it is more than "
       "1000000000000000; a whole number from 64 to 1000000000000000"},
      {"mounts = { ro = '/x' }",
       "read f:1:10: mounts must be an array and is a table; write it as a list: "
       "[ { … } ]"},
      {"mounts = [ '/x' ]",
       "read f:1:12: each item of mounts must be a table of one key; its order counts: mounts = [ "
       "{ … }, { … } ]"},
      {"mounts = [ { ro = '/x', rw = '/y' } ]",
       "read f:1:12: each item of mounts must be a table of one key; its order counts: mounts = [ "
       "{ … }, { … } ]"},
      {"mounts = [ { rox = '/x' } ]", "read f:1:14: unknown key rox in mounts; did you mean ro?"},
      {"env = [ { zzzz = '/x' } ]", "read f:1:11: unknown key zzzz in env; one of set, pass, file"},
      {"mounts = [ { ro = 1 } ]",
       "read f:1:19: mounts.ro must be a string and is an integer; write it in quotes: "
       "\"1\""},
      {"labels = { a = true }",
       "read f:1:16: labels.a must be a string or a whole number and is true; write it in quotes: "
       "\"true\""},
      {"labels = { a = 1.5 }",
       "read f:1:16: labels.a must be a string or a whole number and is a number with a fraction; "
       "write it in quotes: \"1.5\""},
      {"rlimits = { nofile = 5, stack = '5x' }",
       "read f:1:33: rlimits.stack: cannot read 5x as a size: x is not a unit; a number with K, M, "
       "G "
       "or T (powers of 1024), like 64K or 1.5G; without a unit it is bytes"},
      {"syscalls = { deny = 'x' }",
       "read f:1:21: syscalls.deny must be an array and is a string; write it as a list: [\"x\"]"},
      {"labels = { 'a=b' = '1' }",
       "read f:1:12: the name a=b in labels has a '='; choose a name without it"},
      {"command = 'true'",
       "read f:1:11: command must be an array and is a string; write it as a list: "
       "[\"true\"]"},
      {"command = 'git log  -1'",
       "read f:1:11: command must be an array and is a string; write it as a list: "
       "[\"git\", \"log\", \"-1\"]"},
      {"command = 'sh -c \"x\"'",
       "read f:1:11: command must be an array and is a string; write it as a list, in brackets"},
      {"command = ['a', 1]",
       "read f:1:17: command must be a string and is an integer; write it in quotes: "
       "\"1\""},
  };
  for (const auto& each : cases) {
    const std::string text = each.text;
    CAPTURE(text);
    CHECK(complaint(text) == each.message);
  }
}

TEST_CASE("in a hint an option is written as a document has it") {
  const struct {
    const char* hint;
    const char* written;
  } cases[] = {
      {"raise --memory, or lower the layer, as by --layer-size 2M, so that",
       "raise memory, or lower the layer, as by layer-size = \"2M\", so that"},
      {"add --memory SIZE: --swap is what", "add memory = SIZE: swap is what"},
      {"leave out --unsafe-tty, or --idle", "leave out unsafe-tty, or idle"},
      {"--ttl 0 means no limit", "ttl = 0 means no limit"},
      {"give --ttl a time that is not above that (without the option)",
       "give ttl a time that is not above that (without the option)"},
      {"--rlimit", "rlimits"},
      {"--rlimit=nofile=3.", "rlimits = { nofile = \"3\" }."},
      {"with --ro, --nothing -- and --name= ", "with mounts.ro, --nothing -- and name "},
      {"open it: mayfly run --status-fd 3 3>FILE", "open it: mayfly run --status-fd 3 3>FILE"},
  };
  for (const auto& each : cases)
    CHECK(in_document(each.hint) == each.written);
}

TEST_CASE("a time is a number with a fraction, too") {
  for (const std::string text : {"ttl = 1.5", "ttl = '1.5'", "{\"ttl\": 1.5}"}) {
    CAPTURE(text);
    const Result<Spec> spec = read(text);
    REQUIRE(spec);
    CHECK(spec->ttl == std::chrono::milliseconds(1500));
  }
}

TEST_CASE("a whole number may be written with a point or an exponent") {
  for (const std::string text :
       {"pids = 64.0\nmax-output = 1e9\nrlimits.nofile = 1e3\nlabels.n = -2.0",
        "{\"pids\": 64.0, \"max-output\": 1e9, \"rlimits\": {\"nofile\": 1e3}, \"labels\": {\"n\": "
        "-2.0}}",
        "{\"pids\": 6.4E+1, \"max-output\": 1000000000, \"rlimits\": {\"nofile\": 10000e-1}, "
        "\"labels\": {\"n\": -2}}"}) {
    CAPTURE(text);
    const Result<Spec> spec = read(text);
    REQUIRE(spec);
    CHECK(spec->limits.pids == 64);
    CHECK(spec->max_output == 1'000'000'000);
    CHECK(spec->limits.resources.at(0).hard == 1000);
    CHECK(spec->labels.at(0).second == "-2");
  }
}

TEST_CASE("processors are a number with a fraction, too") {
  for (const std::string text : {"cpus = 0.5", "cpus = '0.5'", "{\"cpus\": 0.5}"}) {
    CAPTURE(text);
    const Result<Spec> spec = read(text);
    REQUIRE(spec);
    CHECK(spec->limits.cpu_thousandths == 500);
  }
}

TEST_CASE("a draft knows where each of its values was said") {
  const Result<Document> document =
      parse_document("f",
                     "user = 'a'\nmounts = [ { mask = '/x' }, { ro = '/y' } ]\n"
                     "rlimits = { stack = 1, nofile = 2 }\n");
  REQUIRE(document);
  const auto assignments = read_settings(*document, DocumentKind::Policy, {});
  REQUIRE(assignments);
  Draft draft;
  REQUIRE(apply_settings(draft, *document, *assignments));
  CHECK(origin_of(draft.origins, "user") == "f:1:8");
  CHECK(origin_of(draft.origins, "mounts", 0) == "f:2:21");
  CHECK(origin_of(draft.origins, "mounts", 1) == "f:2:36");
  CHECK(origin_of(draft.origins, "mounts", 2).empty());
  CHECK(origin_of(draft.origins, "root").empty());
  CHECK(origin_of(draft.origins, "rlimits", "nofile") == "f:3:33");
  CHECK(origin_of(draft.origins, "rlimits", "core").empty());
}

TEST_CASE("an error about a limit of resources has that limit's place") {
  const Result<Document> document =
      parse_document("f", "rlimits = { stack = 1, nofile = 2, fsize = 3 }\n");
  REQUIRE(document);
  Draft draft;
  REQUIRE(apply_settings(draft, *document, *read_settings(*document, DocumentKind::Policy, {})));
  Error error = usage_error("limit nofile (--rlimit)");
  error.about = Subject{.key = "rlimits", .item = 1};
  CHECK(with_place(draft, error).action == "limit nofile (rlimits.nofile at f:1:33)");
  draft.origins.push_back({.setting = find_setting_named("rlimit"), .place = {}, .name = "nofile"});
  CHECK(with_place(draft, error).action == "limit nofile (--rlimit)");
}

TEST_CASE("an error names the place of its setting or of what that contradicts or the option") {
  const Result<Document> document =
      parse_document("f", "memory = '1G'\nmounts = [ { tmpfs = '/x' } ]\n");
  REQUIRE(document);
  const auto assignments = read_settings(*document, DocumentKind::Policy, {});
  REQUIRE(assignments);
  Draft draft;
  REQUIRE(apply_settings(draft, *document, *assignments));
  draft.spec.argv = {"true"};
  draft.spec.fs.push_back({.kind = FsKind::File, .target = "y", .data = "secret"});
  const auto said = [&] { return with_place(draft, validate(draft.spec).error()).action; };
  CHECK(said() == "use y as a path inside: it is not absolute (--file y=...)");
  draft.spec.fs[1] = draft.spec.fs[0];
  draft.spec.fs[0].target = "z";
  CHECK(said() == "use z as a path inside: it is not absolute (tmpfs at f:2:22)");
  draft.spec.fs.clear();
  draft.spec.limits.layer_bytes = 2ull << 30;
  CHECK(said().ends_with("could hold 2G (memory at f:1:10)"));
  draft.origins.push_back({.setting = find_setting_named("layer-size"), .place = "g:1:1"});
  CHECK(said().ends_with("could hold 2G (layer-size at g:1:1)"));
}

TEST_CASE("what belongs to one run has no place in a policy") {
  for (const std::string text :
       {"status-fd = 3", "name = 'x'", "command = ['x']", "result = '/r'", "quiet = true"}) {
    CAPTURE(text);
    const std::string key = text.substr(0, text.find(' '));
    CHECK(read(text).operator bool());
    CHECK(complaint(text, DocumentKind::Policy) ==
          "read f:1:1: " + key +
              " has no place in a policy; it belongs to one run: give it on the "
              "command line or in a spec");
  }
}

TEST_CASE("a word of the command line that is no setting leads to where it belongs") {
  const auto told = [](const std::string& text, DocumentKind kind) {
    const Result<Document> document = parse_document("f", text);
    REQUIRE(document);
    const auto settings = read_settings(*document, kind, {});
    REQUIRE_FALSE(settings);
    return settings.error().action + "; " + settings.error().hint;
  };
  CHECK(told("extends = 'x'", DocumentKind::Spec) ==
        "read f:1:1: extends has no place in a spec; policy = \"NAME\" names the policy that it "
        "starts from");
  CHECK(told("policy = 'x'", DocumentKind::Policy) ==
        "read f:1:1: policy has no place in a policy; extends = \"NAME\" names the policy that it "
        "starts from");
  for (const std::string key : {"spec", "help", "print-spec"}) {
    CHECK(told(key + " = 'x'", DocumentKind::Spec) ==
          "read f:1:1: " + key + " has no place in a spec; it is for the command line alone");
  }
}
