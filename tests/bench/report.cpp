// Tables, goals and the README's table, from the results alone.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "bench.hpp"

namespace mayfly::bench {
namespace {

// The row called `name` in an array of rows; null if there is none.
Json row_of(const Json& rows, const std::string& name) {
  for (const Json& row : rows)
    if (row.value("name", "") == name) return row;
  return nullptr;
}

std::optional<double> number(const Json& row, const char* key) {
  if (!row.is_object() || !row.contains(key)) return std::nullopt;
  const Json& field = row[key].is_object() ? row[key]["value"] : row[key];
  return field.is_number() ? std::optional(field.get<double>()) : std::nullopt;
}

std::string decimal(std::optional<double> value, int digits) {
  if (!value) return "-";
  char text[32];
  snprintf(text, sizeof text, "%.*f", digits, *value);
  return text;
}

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

std::optional<double> ratio(const Json& rows, const char* a, const char* b, const char* key) {
  return ratio(number(row_of(rows, a), key), number(row_of(rows, b), key));
}

struct Goal {
  const char* text;
  std::optional<double> value;
  double bound;
  bool at_least;
};

std::vector<Goal> goals_of(const Json& results) {
  const Json& starts = results["starts"];
  const Json memory = row_of(results.value("memory", Json::array()), "mayfly");
  const Json throughput = results.value("throughput", Json::array());
  return {
      {"start: mayfly / floor", ratio(starts, "mayfly", "floor", "p50_ms"), 1.25, false},
      {"start: mayfly / bwrap", ratio(starts, "mayfly", "bwrap", "p50_ms"), 0.7, false},
      {"start: floor / plain", ratio(starts, "floor", "plain", "p50_ms"), 4.5, false},
      {"sandboxes per second, 8 workers: mayfly / bwrap",
       ratio(throughput, "mayfly", "bwrap", "per_second_8"), 1.8, true},
      {"Private_Dirty of mayfly and its init, KiB", number(memory, "private_dirty_kib"), 1023,
       false},
  };
}

void print_starts(const Json& starts) {
  printf("\nStart of /usr/bin/true, spawn to observed exit (interleaved)\n");
  printf("%-22s %5s %8s %8s %8s %8s %8s %8s %8s %7s %7s\n", "", "n", "p10 ms", "p50 ms", "p90 ms",
         "cpu ms", "x plain", "x floor", "x bwrap", "faults", "calls");
  std::string notes;
  for (const Json& row : starts) {
    const std::string name = row["name"];
    if (row.contains("missing")) {
      printf("%-22s missing: %s\n", name.c_str(), row["missing"].get<std::string>().c_str());
      continue;
    }
    const auto times = [&](const char* other) {
      return decimal(ratio(starts, name.c_str(), other, "p50_ms"), 2);
    };
    printf("%-22s %5d %8s %8s %8s %8s %8s %8s %8s %7s %7s\n", name.c_str(), row["n"].get<int>(),
           decimal(number(row, "p10_ms"), 2).c_str(), decimal(number(row, "p50_ms"), 2).c_str(),
           decimal(number(row, "p90_ms"), 2).c_str(), decimal(number(row, "cpu_p50_ms"), 2).c_str(),
           times("plain").c_str(), times("floor").c_str(), times("bwrap").c_str(),
           decimal(number(row, "page_faults"), 0).c_str(),
           decimal(number(row, "syscalls"), 0).c_str());
    if (row.contains("note")) notes += name + ": " + row["note"].get<std::string>() + "\n";
    if (row.value("outlived", 0) > 0) notes += name + ": its sandbox outlives its exit\n";
    if (row.contains("syscalls") && row["syscalls"].contains("why_not"))
      notes += name + ": calls: " + row["syscalls"]["why_not"].get<std::string>() + "\n";
  }
  fputs(notes.c_str(), stdout);
}

// A small table of the rows of one measurement: the name, then the keys given.
void print_rows(const char* title, const Json& rows, const std::vector<const char*>& keys) {
  printf("\n%s\n%-22s", title, "");
  for (const char* key : keys)
    printf(" %18s", key);
  printf("\n");
  for (const Json& row : rows) {
    printf("%-22s", row["name"].get<std::string>().c_str());
    for (const char* key : keys)
      printf(" %18s", decimal(number(row, key), 1).c_str());
    for (const char* key : keys)
      if (row.contains(key) && row[key].is_object() && row[key].contains("why_not"))
        printf("  %s: %s", key, row[key]["why_not"].get<std::string>().c_str());
    printf("\n");
  }
}

}  // namespace

void print_tables(const Json& results) {
  const Json& host = results["host"];
  printf("uid %d, %d cpus, kernel %s, load %.1f before and %.1f after\n", host["uid"].get<int>(),
         host["cpus"].get<int>(), host["kernel"].get<std::string>().c_str(),
         host["load_before"].get<double>(), host["load_after"].get<double>());
  print_starts(results["starts"]);
  if (results.contains("throughput"))
    print_rows("Starts per second", results["throughput"], {"per_second_2", "per_second_8"});
  if (results.contains("memory"))
    print_rows("Memory of the tool itself, one sandbox", results["memory"],
               {"processes", "private_dirty_kib"});
  if (results.contains("teardown"))
    print_rows("SIGKILL of the sandbox to the end of its last process", results["teardown"],
               {"processes", "ms"});
  if (results.contains("growth"))
    print_rows("Start with other sandboxes live", results["growth"], {"live", "p50_ms"});
  if (results.contains("lateness")) {
    const Json& late = results["lateness"];
    if (late.contains("why_not"))
      printf("\nTTL of 1 s: missing: %s\n", late["why_not"].get<std::string>().c_str());
    else
      printf(
          "\nTTL of 1 s, %d sandboxes: late by p50 %.1f, p90 %.1f, at most %.1f ms;"
          " %d ended with another code than 124, %d never\n",
          late["n"].get<int>(), late["p50_ms"].get<double>(), late["p90_ms"].get<double>(),
          late["max_ms"].get<double>(), late["exit_code_not_124"].get<int>(),
          late["never_ended"].get<int>());
  }
}

void print_readme(const Json& results) {
  const Json& starts = results["starts"];
  printf(
      "| start of `true`, spawn to exit | median | p90 | × plain | × floor | × bwrap | page faults "
      "|"
      " system calls |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const Json& row : starts) {
    const std::string name = row["name"];
    if (row.contains("missing") || name == "plain again") continue;
    printf("| %s | %s ms | %s ms |", name.c_str(), decimal(number(row, "p50_ms"), 1).c_str(),
           decimal(number(row, "p90_ms"), 1).c_str());
    for (const char* other : {"plain", "floor", "bwrap"})
      printf(" %s |", decimal(ratio(starts, name.c_str(), other, "p50_ms"), 2).c_str());
    printf(" %s | %s |\n", decimal(number(row, "page_faults"), 0).c_str(),
           decimal(number(row, "syscalls"), 0).c_str());
  }
  if (results.contains("throughput")) {
    printf("\n| sandboxes per second | 2 workers | 8 workers |\n|---|---|---|\n");
    for (const Json& row : results["throughput"])
      printf("| %s | %s | %s |\n", row["name"].get<std::string>().c_str(),
             decimal(number(row, "per_second_2"), 0).c_str(),
             decimal(number(row, "per_second_8"), 0).c_str());
  }
  const Json& host = results["host"];
  printf("\nInterleaved starts as uid %d on %d cpus, Linux %s, load %.1f.\n",
         host["uid"].get<int>(), host["cpus"].get<int>(), host["kernel"].get<std::string>().c_str(),
         host["load_before"].get<double>());
}

bool check_goals(const Json& results) {
  bool all_met = true;
  printf("\nGoals\n");
  for (const Goal& goal : goals_of(results)) {
    const bool met =
        goal.value && (goal.at_least ? *goal.value >= goal.bound : *goal.value <= goal.bound);
    all_met &= met;
    printf("%-7s %s: %s (goal: %s %s)\n",
           met          ? "met"
           : goal.value ? "MISSED"
                        : "UNKNOWN",
           goal.text, decimal(goal.value, 2).c_str(), goal.at_least ? "at least" : "at most",
           decimal(goal.bound, 2).c_str());
  }
  return all_met;
}

}  // namespace mayfly::bench
