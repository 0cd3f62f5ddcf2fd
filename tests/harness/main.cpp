// main of every suite: becomes the user that --as=root|user asks for, and counts what was skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "harness/suite.hpp"

namespace {

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE of suite.cmake
int skipped_cases = 0;
int cases_run = 0;

bool must_run() {
  const char* value = std::getenv("MAYFLY_MUST_RUN");
  return value != nullptr && std::string_view(value) == "1";
}

struct Counter : doctest::IReporter {
  explicit Counter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override { ++cases_run; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("counter", 1, Counter);

// Goes through tests/as_user, which gives up root and comes back here. Returns on failure only.
int as_user(int argc, char** argv) {
  std::vector<char*> args = {const_cast<char*>(MAYFLY_AS_USER)};
  args.insert(args.end(), argv, argv + argc);
  args.push_back(nullptr);
  ::setenv("MAYFLY_BUILD", MAYFLY_BUILD_DIR, 0);
  ::execv(args[0], args.data());
  std::perror("cannot execute " MAYFLY_AS_USER);
  return 1;
}

}  // namespace

void harness::skip(const std::string& reason) {
  ++skipped_cases;
  if (must_run()) FAIL("must run, but: " << reason);
  std::printf("skipped: %s\n", reason.c_str());
}

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv, argv + argc);
  const auto asked = [&](std::string_view option) {
    return std::find(args.begin(), args.end(), option) != args.end();
  };
  if (asked("--as=user") && harness::is_root()) return as_user(argc, argv);
  if (asked("--as=root") && !harness::is_root()) {
    std::puts("skipped: needs root");
    return must_run() ? 1 : kSkipped;
  }
  ::signal(SIGPIPE, SIG_IGN);
  doctest::Context context(argc, argv);
  const int failed = context.run();
  if (failed != 0 || context.shouldExit()) return failed;
  if (cases_run == 0) {
    std::puts("no test case of that name");
    return 1;
  }
  return skipped_cases == cases_run ? kSkipped : 0;
}
