#include "report/result.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json_writer.hpp"
#include "base/on_exit.hpp"
#include "base/text.hpp"
#include "report/words.hpp"
#include "supervise/registry.hpp"
#include "sys/entries.hpp"
#include "sys/mounts.hpp"

namespace mayfly::report {
namespace {

using supervise::Measured;
using supervise::Outcome;

std::string_view kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Usage:
      return "usage";
    case ErrorKind::Setup:
      return "setup";
    case ErrorKind::HostUnsupported:
      return "host_unsupported";
    case ErrorKind::Internal:
      return "internal";
  }
  return "internal";
}

void write_measured(JsonWriter& json, std::string_view name, const Measured& measured) {
  json.key(name);
  if (measured.value) {
    json.value(*measured.value);
  } else {
    json.null();
  }
  if (!measured.why_not.empty()) json.member(std::string(name) + "_why", measured.why_not);
}

void write_error(JsonWriter& json, const std::optional<Error>& error) {
  json.key("error");
  if (!error) {
    json.null();
    return;
  }
  json.begin_object().member("kind", kind_name(error->kind)).member("action", error->action);
  json.member("call", error->call);
  if (error->sys_errno != 0) {
    json.member("errno", error->sys_errno).member("errno_name", errno_name(error->sys_errno));
  } else {
    json.key("errno").null().key("errno_name").null();
  }
  json.member("hint", error->hint).end_object();
}

void write_usage(JsonWriter& json, const supervise::Usage& usage) {
  json.key("usage").begin_object();
  write_measured(json, "wall_ns", usage.wall_ns);
  write_measured(json, "user_ns", usage.user_ns);
  write_measured(json, "system_ns", usage.system_ns);
  write_measured(json, "peak_memory_bytes", usage.peak_memory_bytes);
  write_measured(json, "max_rss_bytes", usage.max_rss_bytes);
  write_measured(json, "peak_pids", usage.peak_pids);
  write_measured(json, "read_bytes", usage.read_bytes);
  write_measured(json, "written_bytes", usage.written_bytes);
  write_measured(json, "oom_kills", usage.oom_kills);
  write_measured(json, "pids_refused", usage.pids_refused);
  write_measured(json, "cpu_throttled_ns", usage.cpu_throttled_ns);
  write_measured(json, "layer_bytes", usage.layer_bytes);
  write_measured(json, "layer_inodes", usage.layer_inodes);
  write_measured(json, "stdout_bytes", usage.stdout_bytes);
  write_measured(json, "stderr_bytes", usage.stderr_bytes);
  json.end_object();
}

void write_proof(JsonWriter& json, const supervise::Proof& proof) {
  json.key("proof").begin_object().member("init_reaped", proof.init_reaped);
  write_measured(json, "populated", proof.populated);
  json.member("layer_closed", proof.layer_closed).end_object();
}

void write_denials(JsonWriter& json, const Outcome& outcome) {
  json.key("denials");
  if (!outcome.denials) {
    json.null().member("denials_why", "not asked for: --explain-denials tells");
    return;
  }
  json.begin_array();
  for (const supervise::Denial& denial : *outcome.denials) {
    write_denial(json.begin_object(), denial);
    json.end_object();
  }
  json.end_array();
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// /dev/stdout, /dev/fd/N and their like name what is open, and are links in the host's own tree.
bool is_of_kernel(const std::string& directory) {
  char real[PATH_MAX];
  if (::realpath(directory.c_str(), real) == nullptr) return false;
  const std::string_view path = real;
  const auto is_below = [&](std::string_view top) {
    return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
  };
  return is_below("/proc") || is_below("/sys") || (is_below("/dev") && !is_below("/dev/shm"));
}

Error cannot_write(const std::string& path, std::string call) {
  Error error = sys::errno_error("write the result to " + shown(path), std::move(call));
  error.kind = ErrorKind::Usage;
  error.hint = sys::write_remedy(error.sys_errno);
  if (error.hint.empty()) error.hint = "name a file in a directory that you can write to";
  return error;
}

// Nobody's but ours, and nobody can know it before: others write results into the directory, too,
// with the same name of a sandbox or none. No longer than any other name, however long that of the
// result is.
Result<std::string> own_name() {
  return ".mayfly-" + TRY(supervise::random_id()) + ".tmp";
}

// A new file, which is to get the place of the result.
struct Fresh {
  Fd file;
  std::string name;  // empty: it has none yet
};

constexpr int kTries = 8;

void remove(const Fd& directory, const std::string& name) {
  if (!name.empty()) ::unlinkat(directory.get(), name.c_str(), 0);
}

// Without a name where the file system can do that: whoever is killed now leaves nothing. Else
// O_EXCL: nobody's file is written, no link followed.
Result<Fresh> make_fresh(const Fd& directory, const std::string& path) {
  constexpr mode_t kMode = 0644;
  Fd file(::openat(directory.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode));
  if (file) return Fresh{.file = std::move(file), .name = {}};
  std::string name;
  for (int i = 0; i < kTries; ++i) {
    name = TRY(own_name());
    file = Fd(::openat(directory.get(), name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
    if (file) return Fresh{.file = std::move(file), .name = std::move(name)};
    if (errno != EEXIST) break;
  }
  return cannot_write(path, "open(" + shown(name) + ", O_CREAT|O_EXCL)");
}

// The name under which it is renamed at once: a link cannot replace what is there.
Result<std::string> name_fresh(const Fd& directory, const Fd& file, const std::string& path) {
  // AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH.
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  for (int i = 0; i < kTries; ++i) {
    std::string name = TRY(own_name());
    if (::linkat(AT_FDCWD, link.c_str(), directory.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return name;
    }
    if (errno != EEXIST) break;
  }
  return cannot_write(path, "linkat(" + link + ")");
}

}  // namespace

std::string result_json(const Outcome& outcome, const Policies& policies) {
  JsonWriter json;
  json.begin_object().member("v", kVersion).member("ev", "result");
  json.member("id", outcome.id).member("name", outcome.name);
  write_labels(json, outcome);
  if (policies) {
    write_policy(json, *policies);
  } else {
    json.key("policy").null();
  }
  json.member("reason", reason_name(outcome.reason)).member("code", outcome.code);
  json.key("signal");
  if (outcome.signal) {
    json.value(*outcome.signal);
  } else {
    json.null();
  }
  json.key("cancelled_by");
  if (outcome.cancelled_by == supervise::Canceller::Nobody) {
    json.null();
  } else {
    json.value(canceller_name(outcome.cancelled_by));
  }
  json.member("started", outcome.started).member("clean", outcome.clean).key("unclean_why");
  if (outcome.clean) {
    json.null();
  } else {
    json.value(outcome.unclean_why);
  }
  write_error(json, outcome.error);
  write_usage(json, outcome.usage);
  json.key("limits_hit").begin_array();
  for (const std::string& limit : outcome.limits_hit)
    json.value(limit);
  json.end_array();
  write_proof(json, outcome.proof);
  write_notes(json, outcome.notes);
  write_denials(json, outcome);
  return json.end_object().take();
}

Result<ResultFile> ResultFile::open(const std::string& path, const std::string& working_dir) {
  ResultFile file;
  file.path_ = path;
  const std::size_t slash = path.rfind('/');
  file.name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  if (file.name_.size() > NAME_MAX) {
    return usage_error("write the result to " + shown(path) + ": its name is longer than 255 bytes",
                       "choose a shorter one");
  }
  struct stat info {};
  // What a link leads to counts, too: /dev/stdout is one.
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (file.name_.empty() || (exists && S_ISDIR(info.st_mode))) {
    return usage_error("write the result to " + shown(path) + ": it is a directory",
                       "name a file in it");
  }
  if (exists && !S_ISREG(info.st_mode)) {
    return usage_error(
        "write the result to " + shown(path) + ": it is no regular file",
        "name a file, or let --status-fd write to a pipe: its last line is the result");
  }
  const std::string directory = directory_of(path);
  if (is_of_kernel(directory)) {
    return usage_error("write the result to " + shown(path) + ": it would replace what is there",
                       "name a file elsewhere, or let --status-fd write to a descriptor");
  }
  const std::string from_here = directory_of(seen_from(working_dir, path));
  file.directory_ = Fd(::open(from_here.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!file.directory_) return cannot_write(path, "open(" + shown(directory) + ")");
  if (::faccessat(file.directory_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return cannot_write(path, "faccessat(" + shown(directory) + ", W_OK)");
  }
  return file;
}

Result<void> ResultFile::write(const Outcome& outcome, const Policies& policies) const {
  Fresh fresh = TRY(make_fresh(directory_, path_));
  OnExit remove_own([&] { remove(directory_, fresh.name); });
  const std::string text = result_json(outcome, policies) + "\n";
  if (!sys::write_whole(fresh.file.get(), text)) {
    return cannot_write(path_, "write(" + shown(name_) + ")");
  }
  if (fresh.name.empty()) fresh.name = TRY(name_fresh(directory_, fresh.file, path_));
  fresh.file.reset();
  const int in = directory_.get();
  if (::renameat(in, fresh.name.c_str(), in, name_.c_str()) != 0) {
    return cannot_write(path_, "rename(" + shown(fresh.name) + ")");
  }
  remove_own.cancel();
  return {};
}

}  // namespace mayfly::report
