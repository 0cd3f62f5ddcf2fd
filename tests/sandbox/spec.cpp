// --spec and --print-spec: a run out of a document is the run that its words would be.
#include <doctest/doctest.h>

#include <string>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// `mayfly run WORDS...` in the directory, with a text on its standard input.
Finished run_in(const Run& where, const Words& words, const std::string& input = {}) {
  Words all = {mayfly_path(), "run"};
  all.insert(all.end(), words.begin(), words.end());
  Command command(all);
  command.cwd(where.project().path()).in(input);
  return command.run();
}

}  // namespace

TEST_CASE("a spec holds settings and command, and the command line wins") {
  const Run work({}, {});
  work.project().file("sub/job.toml",
                      "command = ['sh', '-c', 'hostname; umask; cat /data/x; echo $A $B']\n"
                      "hostname = 'of-spec'\numask = '077'\n"
                      "mounts = [ { ro = 'data:/data' } ]\n"
                      "env = [ { set = 'A=1' }, { file = 'vars' } ]\n");
  work.project().file("sub/data/x", "beside the spec\n");
  work.project().file("sub/vars", "B=2\n");
  Finished finished = run_in(work, {"--spec", "sub/job.toml"});
  CAPTURE(finished.err);
  CHECK(finished.code == 0);
  CHECK(finished.out == "of-spec\n0077\nbeside the spec\n1 2\n");

  finished =
      run_in(work, {"--hostname", "here", "--spec", "sub/job.toml", "-e", "A=3", "hostname"});
  CHECK(finished.out == "here\n");
  finished = run_in(work, {"--spec=sub/job.toml", "--", "sh", "-c", "echo $A; umask"});
  CHECK(finished.out == "1\n0077\n");
}

TEST_CASE("a number of a spec may be written with an exponent or a point") {
  const Run work({}, {});
  const Finished finished =
      run_in(work, {"--spec", "-"},
             "{\"command\": [\"sh\", \"-c\", \"ulimit -n\"], \"max-output\": 1e9, \"pids\": 64.0,"
             " \"rlimits\": {\"nofile\": 1e2}}");
  CAPTURE(finished.err);
  CHECK(finished.out == "100\n");
}

TEST_CASE("a spec on standard input, and what is printed as a spec runs alike") {
  const Run work({}, {});
  const std::string spec =
      R"({"command": ["sh", "-c", "echo \"$A\"; exit 3"], "env": [{"set": "A=x\ny"}], "ttl": "1m"})";
  Finished finished = run_in(work, {"--spec", "-"}, spec);
  CAPTURE(finished.err);
  CHECK(finished.code == 3);
  CHECK(finished.out == "x\ny\n");

  const Finished printed = run_in(work, {"--print-spec", "--spec", "-"}, spec);
  CHECK(printed.code == 0);
  CHECK(contains(printed.out, R"("ttl": "1m")"));
  CHECK(run_in(work, {"--print-spec", "--spec", "-"}, printed.out).out == printed.out);
  finished = run_in(work, {"--spec", "-"}, printed.out);
  CHECK(finished.code == 3);
  CHECK(finished.out == "x\ny\n");
}

TEST_CASE("a spec that is wrong starts nothing, and says where it is wrong") {
  const struct {
    const char* text;
    const char* words;
  } cases[] = {
      {"{\"command\": [\"true\"],\n \"ttll\": 5}",
       ":2:2: unknown key ttll\nhint: did you mean ttl?"},
      {"{\"ttl\": 5, \"ttl\": 5}", ":1:12: the key ttl is there twice"},
      {"command = ['true']\nttl = '5 m'\n", ":2:7: ttl: cannot read '5 m' as a duration"},
      {"command = ['true']\npids = 0\n", ":2:8: pids: cannot use 0 as a limit of processes"},
      {"\xff\xfe", ":1:1: this byte is not UTF-8"},
      {"{\"policy\": \"no-such\"}", ":1:12: policy: cannot use the policy no-such"},
      {"policy = './no-such'\n", ":1:10: policy: cannot read the policy "},
      {"{\"labels\": {\"a\": 1.5}}", ":1:18: labels.a must be a string"},
      {"[]", ":1:2: no table begins so\nhint: a table begins with its name in brackets"},
      {"{}", "cannot run nothing: no command was given"},
  };
  const Run work({}, {});
  for (const auto& each : cases) {
    const std::string text = each.text;
    CAPTURE(text);
    const Finished finished = run_in(work, {"--spec", "-", "--result", work.result_file()}, text);
    CHECK(finished.code == 125);
    CHECK(finished.out.empty());
    CAPTURE(finished.err);
    CHECK(contains(finished.err, each.words));
    CHECK(contains(read_file(work.result_file()), "\"kind\":\"usage\""));
  }
  CHECK(contains(run_in(work, {"--spec", "/"}).err, "Is a directory"));
  CHECK(
      contains(run_in(work, {"--spec", "-"}, std::string(2u << 20, ' ')).err, "longer than 1 MiB"));
}
