#include "plan/environment.hpp"

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"

namespace mayfly::plan {
namespace {

constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string_view name_of(std::string_view variable) {
  const std::size_t equals = variable.find('=');
  return equals == std::string_view::npos ? std::string_view() : variable.substr(0, equals);
}

void set(std::vector<std::string>& env, std::string_view name, std::string_view value) {
  std::string variable(name);
  (variable += '=') += value;
  for (std::string& existing : env) {
    if (name_of(existing) != name) continue;
    existing = std::move(variable);
    return;
  }
  env.push_back(std::move(variable));
}

// "Europe/Berlin", "UTC", "Etc/GMT+3": a name below the zone directory, never a path out of it.
bool is_zone_name(std::string_view zone) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_+-/").find(c) != std::string_view::npos;
  };
  return !zone.empty() && zone.size() <= 64 && zone[0] != '/' &&
         std::all_of(zone.begin(), zone.end(), good);
}

// Terminal types name a file below the terminfo directory.
bool is_terminal_type(std::string_view type) {
  const auto good = [](char c) { return c > ' ' && c < 0x7F && c != '/'; };
  return !type.empty() && type.size() <= 64 && type[0] != '.' &&
         std::all_of(type.begin(), type.end(), good);
}

std::vector<std::string> base_environment(const Ids& ids,
                                          const std::vector<std::string>& caller_env,
                                          Terminal terminal) {
  std::vector<std::string> env;
  env.reserve(16);
  set(env, "PATH", kPath);
  set(env, "HOME", ids.home);
  set(env, "USER", ids.user);
  set(env, "LOGNAME", ids.user);
  set(env, "SHELL", ids.shell);
  set(env, "TMPDIR", "/tmp");
  set(env, "LANG", "C.UTF-8");
  set(env, "MAYFLY", "1");
  const char* zone = find_variable(caller_env, "TZ");
  if (zone != nullptr && is_zone_name(zone)) set(env, "TZ", zone);
  if (terminal == Terminal::Present) {
    const char* type = find_variable(caller_env, "TERM");
    set(env, "TERM", type != nullptr && is_terminal_type(type) ? type : "dumb");
  }
  return env;
}

Result<void> check_rule(const spec::EnvRule& rule) {
  const bool bad_name =
      rule.name.empty() || rule.name.find_first_of(std::string_view("=\0", 2)) != std::string::npos;
  if (bad_name) {
    return usage_error("use " + shown(rule.name) + " as the name of an environment variable",
                       "a name is not empty and has no '='; to set a variable write NAME=VALUE");
  }
  if (rule.value.find('\0') != std::string::npos) {
    return usage_error("set the environment variable " + shown(rule.name) +
                       ": its value holds a NUL byte");
  }
  return {};
}

// Variables are looked up one after the other: more than a few thousand would take seconds.
constexpr std::size_t kMostVariables = 10'000;

// What passes of a variable's value. Of make's own flags those go that name descriptors or a FIFO
// of the caller's: without them make shares out its jobs itself.
std::string passed(std::string_view name, const char* value) {
  if (name != "MAKEFLAGS" && name != "MFLAGS") return value;
  std::string kept;
  for (std::string_view word : split(value, ' ')) {
    if (word.starts_with("--jobserver-")) continue;
    kept += (kept.empty() ? "" : " ") + std::string(word);
  }
  return kept;
}

void pass_matching(std::vector<std::string>& env, std::string_view pattern,
                   const std::vector<std::string>& caller_env) {
  for (const std::string& variable : caller_env) {
    if (env.size() > kMostVariables) return;
    const std::string_view name = name_of(variable);
    if (name.empty() || !glob_match(pattern, name)) continue;
    set(env, name, passed(name, find_variable(caller_env, name)));
  }
}

// One bracket expression at pattern[at], which is '['. False if it has no end. `after` is what
// follows it.
bool match_set(std::string_view pattern, std::size_t at, char c, bool& matches,
               std::size_t& after) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  const auto byte = static_cast<unsigned char>(c);
  bool found = false;
  for (bool first = true; i < pattern.size(); first = false) {
    if (pattern[i] == ']' && !first) {
      matches = found != negated;
      after = i + 1;
      return true;
    }
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    ++i;
    found = found || (low <= byte && byte <= high);
  }
  return false;
}

// Matches one byte against the pattern's element at `at`, which is not '*'.
bool match_one(std::string_view pattern, std::size_t at, char c, std::size_t& after) {
  after = at + 1;
  if (pattern[at] == '?') return true;
  bool matches = false;
  if (pattern[at] == '[' && match_set(pattern, at, c, matches, after)) return matches;
  if (pattern[at] == '\\' && at + 1 < pattern.size()) {
    after = at + 2;
    return pattern[at + 1] == c;
  }
  return pattern[at] == c;
}

Error too_long(std::string what, std::uint64_t size, std::uint64_t limit, std::string hint) {
  return usage_error("execute the command: " + std::move(what) + " is " + std::to_string(size) +
                         " bytes long, the kernel takes " + std::to_string(limit),
                     std::move(hint));
}

}  // namespace

const char* find_variable(const std::vector<std::string>& env, std::string_view name) {
  for (const std::string& variable : env) {
    if (variable.size() > name.size() && variable[name.size()] == '=' &&
        variable.compare(0, name.size(), name) == 0) {
      return variable.c_str() + name.size() + 1;
    }
  }
  return nullptr;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // The usual two-finger scan: after a mismatch only the last '*' takes one more byte, so the time
  // is bounded by the product of both lengths whatever the pattern.
  std::size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    std::size_t after = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_text = t;
    } else if (p < pattern.size() && match_one(pattern, p, text[t], after)) {
      p = after;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

Result<std::vector<std::string>> task_environment(const spec::Spec& spec, const Ids& ids,
                                                  const std::vector<std::string>& caller_env,
                                                  Terminal terminal) {
  std::vector<std::string> env = base_environment(ids, caller_env, terminal);
  for (const spec::EnvRule& rule : spec.env) {
    TRY(check_rule(rule));
    switch (rule.kind) {
      case spec::EnvKind::Set:
        set(env, rule.name, rule.value);
        break;
      case spec::EnvKind::PassName:
        if (const char* value = find_variable(caller_env, rule.name))
          set(env, rule.name, passed(rule.name, value));
        break;
      case spec::EnvKind::PassPattern:
        pass_matching(env, rule.name, caller_env);
        break;
    }
    if (env.size() > kMostVariables) {
      return usage_error(
          "give the task more than " + std::to_string(kMostVariables) + " environment variables",
          "pass them in a file");
    }
  }
  return env;
}

Result<void> check_exec_size(const std::vector<std::string>& argv,
                             const std::vector<std::string>& env, std::uint64_t stack_bytes) {
  constexpr std::uint64_t kMostString = 128 << 10;  // MAX_ARG_STRLEN, the final NUL included
  constexpr std::uint64_t kMostTotal = 6 << 20;     // three quarters of _STK_LIM (8 MiB)
  constexpr std::uint64_t kLeastTotal = 128 << 10;  // ARG_MAX, granted to any stack limit
  std::uint64_t total = 0;
  const auto add = [&](const std::string& text) {
    total += text.size() + 1 + sizeof(char*);
    return text.size() < kMostString;
  };
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (add(argv[i])) continue;
    return too_long("argument " + std::to_string(i), argv[i].size(), kMostString - 1,
                    "pass it in a file or through stdin");
  }
  for (const std::string& variable : env) {
    if (add(variable)) continue;
    return too_long("the environment variable " + shown(name_of(variable)), variable.size(),
                    kMostString - 1, "leave it out, or pass its value in a file");
  }
  const std::uint64_t limit = std::max(kLeastTotal, std::min(kMostTotal, stack_bytes / 4));
  if (total <= limit) return {};
  return too_long("the arguments and the environment together", total, limit,
                  "pass less, or raise the stack limit (ulimit -s): a quarter of it counts, up to "
                  "6 MiB");
}

}  // namespace mayfly::plan
