// The benchmark driver. Started by `run`, which finds the programs and makes the scratch directory.
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bench.hpp"

namespace {

using namespace mayfly::bench;

constexpr const char* kUsage =
    "usage: bench --floor PROGRAM --mayfly PROGRAM --work DIR [--runs N] [--quick] [--smoke]\n"
    "             [--starts-only] [--live N]... [--only NAME]... [--extra NAME=COMMAND]...\n"
    "             [--json FILE] [--check] [--readme]\n"
    "       bench --from FILE [--check] [--readme]\n";

struct Request {
  Options options;
  std::string json_file, from_file;
  bool smoke = false, starts_only = false, check = false, readme = false;
};

[[noreturn]] void usage(const char* why) {
  fprintf(stderr, "bench: %s\n%s", why, kUsage);
  exit(2);
}

Request parse(int argc, char** argv) {
  Request request;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) usage((word + " needs a value").c_str());
      return argv[++i];
    };
    if (word == "--floor")
      request.options.floor = value();
    else if (word == "--mayfly")
      request.options.mayfly = value();
    else if (word == "--work")
      request.options.work_dir = value();
    else if (word == "--runs")
      request.options.runs = atoi(value().c_str());
    else if (word == "--extra")
      request.options.extra.push_back(value());
    else if (word == "--only")
      request.options.only.push_back(value());
    else if (word == "--live")
      request.options.live.push_back(atoi(value().c_str()));
    else if (word == "--json")
      request.json_file = value();
    else if (word == "--from")
      request.from_file = value();
    else if (word == "--quick")
      request.options.quick = true;
    else if (word == "--smoke")
      request.smoke = true;
    else if (word == "--starts-only")
      request.starts_only = true;
    else if (word == "--check")
      request.check = true;
    else if (word == "--readme")
      request.readme = true;
    else
      usage(("unknown option " + word).c_str());
  }
  if (request.from_file.empty() && (request.options.work_dir.empty() || request.options.runs < 1))
    usage("--work, and --runs of at least 1, are needed");
  return request;
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

Json measure(const Request& request) {
  const Options& options = request.options;
  if (chdir(options.work_dir.c_str()) != 0) usage("--work is not a directory");
  utsname system{};
  uname(&system);
  Json results = {{"v", 1},
                  {"host",
                   {{"uid", getuid()},
                    {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
                    {"kernel", system.release},
                    {"load_before", load_average()},
                    {"page_faults",
                     "of each process that was waited for, by wait4; what is "
                     "reparented out of the tree would be missed"}}}};
  const std::vector<Variant> variants = find_variants(options);
  const bool small = options.quick || request.smoke;
  results["starts"] = measure_starts(variants, options.runs);
  if (!request.starts_only) {
    results["throughput"] = measure_throughput(variants, request.smoke ? 0.1 : small ? 3 : 9);
    results["memory"] = measure_memory(variants);
    results["teardown"] = measure_teardown(variants, request.smoke ? 10 : 200);
    const Variant* mayfly = find(variants, "mayfly");
    results["lateness"] = mayfly != nullptr
                              ? measure_lateness(*mayfly, request.smoke ? 5 : 100)
                              : Json{{"value", nullptr}, {"why_not", "mayfly does not run"}};
  }
  if (!request.starts_only || !options.live.empty()) {
    const std::vector<int> live = !options.live.empty() ? options.live
                                  : request.smoke       ? std::vector{0, 5}
                                  : small               ? std::vector{0, 50}
                                                        : std::vector{0, 100, 400};
    results["growth"] = measure_growth(variants, live, request.smoke ? 3 : 30);
  }
  results["host"]["load_after"] = load_average();
  return results;
}

Json load(const std::string& file) {
  std::ifstream text(file);
  Json results = Json::parse(text, nullptr, false);
  if (results.is_discarded() || results.value("v", 0) != 1)
    usage((file + " does not hold results of this benchmark").c_str());
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  const Request request = parse(argc, argv);
  const Json results = request.from_file.empty() ? measure(request) : load(request.from_file);
  if (!request.json_file.empty()) {
    std::ofstream file(request.json_file);
    file << results.dump(1) << '\n';
    if (!file.flush()) usage((request.json_file + " cannot be written").c_str());
  }
  if (request.readme)
    print_readme(results);
  else
    print_tables(results);
  return !request.check || check_goals(results) ? 0 : 1;
}
