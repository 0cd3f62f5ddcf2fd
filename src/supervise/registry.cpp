#include "supervise/registry.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.hpp"
#include "isolate/own_directory.hpp"
#include "supervise/janitor.hpp"
#include "sys/entries.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"
#include "sys/process.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::string_view kBase32 = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kIdLength = 12;

Error unsafe(const std::string& what, std::string why, std::string hint) {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = 0,
               .action = "use " + what + ": " + std::move(why),
               .call = {},
               .hint = std::move(hint)};
}

// A runtime directory that is full or read-only, whatever of it was to be made.
Error with_remedy(Error error, const std::string& path) {
  const int number = error.sys_errno;
  if (!error.hint.empty() || number == 0) return error;
  const bool root = ::geteuid() == 0;
  if (number == ENOSPC || number == EDQUOT) error.hint = "make room in " + shown(path);
  if (number == EFBIG) error.hint = sys::write_remedy(number);
  if (number == EROFS || number == EACCES || number == ENOENT) {
    error.hint = root ? "make " + shown(path) + " a directory that can be written to"
                      : "set XDG_RUNTIME_DIR to a directory that you can write to, or unset it";
  }
  return error;
}

// In /tmp, what another user has made can only be gone round.
std::string foreign_remedy() {
  if (::geteuid() == 0) return "remove it, or set XDG_RUNTIME_DIR to a directory of your own";
  return "set XDG_RUNTIME_DIR to a directory of your own, or have this one removed";
}

// Whose a directory is that we may not even open.
Error not_opened(Error error, const std::string& path) {
  if (error.sys_errno != EACCES) return error;
  const auto info = sys::lookup(AT_FDCWD, path.c_str());
  if (!info || !*info || (*info)->uid == ::geteuid()) return with_remedy(std::move(error), path);
  return unsafe("the runtime directory " + shown(path),
                "it belongs to user " + std::to_string((*info)->uid), foreign_remedy());
}

Result<void> judge_directory(const Fd& fd, const std::string& path) {
  using isolate::own_directory::Others;
  const sys::Identity identity = TRY(sys::fstat(fd, path));
  auto why = isolate::own_directory::why_not(identity, Others::AreKeptOut);
  if (!why) return {};
  const bool theirs = identity.owner != ::geteuid();
  return unsafe("the runtime directory " + shown(path), std::move(*why),
                theirs ? foreign_remedy() : "chmod 700 " + shown(path));
}

// What gc could not read back must not be written.
Result<std::string> encode(const Record& record) {
  std::string json = to_json(record);
  if (json.size() <= kMostStateBytes) return json;
  return usage_error("register the sandbox: its labels are too long",
                     "at most " + std::to_string(kMostStateBytes) + " bytes in all");
}

// Locks a folder that was just made and writes its first state; empty if somebody was faster. The
// state file proves that the folder is still linked: in a removed one nothing can be made.
Result<Fd> lock_new_folder(const RuntimeDir& directory, const std::string& id,
                           const std::string& state) {
  Result<Fd> folder = sys::open_directory_at(directory.fd().get(), id.c_str());
  if (!folder && folder.error().sys_errno == ENOENT) return Fd();
  if (!folder) {
    // Empty, or another's by now and kept.
    static_cast<void>(sys::unlinkat(directory.fd(), id.c_str(), sys::Entry::Directory));
    return folder;
  }
  if (!TRY(sys::try_lock(*folder, id))) return Fd();
  Result<void> made = sys::create_file_at(*folder, kStateFile, state);
  if (made) return std::move(*folder);
  if (made.error().sys_errno == ENOENT) return Fd();
  static_cast<void>(sys::unlinkat(*folder, kStateFile, sys::Entry::File));
  static_cast<void>(sys::unlinkat(directory.fd(), id.c_str(), sys::Entry::Directory));
  Error error = std::move(made).error();
  error.action = "register the sandbox " + shown(id) + " in " + shown(directory.path());
  return with_remedy(std::move(error), directory.path());
}

// False: there is one already.
Result<bool> make_folder(const RuntimeDir& directory, const std::string& id) {
  Result<bool> made = sys::mkdirat(directory.fd(), id.c_str(), 0700);
  if (made) return made;
  Error error = std::move(made).error();
  error.action = "register the sandbox " + shown(id) + " in " + shown(directory.path());
  return with_remedy(std::move(error), directory.path());
}

}  // namespace

Result<RuntimeDir> RuntimeDir::open(const std::string& path) {
  Result<Fd> fd = sys::open_directory_at(AT_FDCWD, path.c_str());
  if (!fd && fd.error().sys_errno == ENOENT) {
    Result<void> made = sys::mkdir(path, 0700);
    // Another start of ours may be making it right now.
    if (!made && made.error().sys_errno != EEXIST) {
      return with_remedy(std::move(made).error(), path.substr(0, path.rfind('/')));
    }
    fd = sys::open_directory_at(AT_FDCWD, path.c_str());
  }
  if (!fd && (fd.error().sys_errno == ELOOP || fd.error().sys_errno == ENOTDIR)) {
    return unsafe("the runtime directory " + shown(path),
                  "it is not a directory, or a symbolic link",
                  "remove it, or set XDG_RUNTIME_DIR to a directory of your own");
  }
  if (!fd) return not_opened(std::move(fd).error(), path);
  TRY(judge_directory(*fd, path));
  return RuntimeDir(std::move(*fd), path);
}

Result<std::string> random_id() {
  std::array<std::byte, kIdLength> bytes;
  TRY(sys::getrandom(bytes));
  std::string id;
  for (const std::byte byte : bytes)
    id += kBase32[static_cast<unsigned>(byte) % kBase32.size()];
  return id;
}

bool is_random_id(std::string_view id) {
  return id.size() == kIdLength && id.find_first_not_of(kBase32) == std::string_view::npos;
}

bool is_valid_id(std::string_view id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !id.empty() && id.size() <= 64 && id[0] != '.' && id[0] != '-' &&
         std::all_of(id.begin(), id.end(), allowed);
}

Result<Record> read_record(const Fd& folder) {
  const Fd file =
      TRY(sys::openat(folder.get(), kStateFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  const sys::Identity identity = TRY(sys::fstat(file, kStateFile));
  if (!S_ISREG(identity.mode) || identity.owner != ::geteuid()) {
    return unsafe("a state file", "it is no regular file of ours", {});
  }
  std::string text(kMostStateBytes + 1, '\0');  // parse_record refuses one byte too many
  text.resize(TRY(sys::read(file, text, kStateFile)));
  return parse_record(text);
}

std::string boot_id() {
  std::string buffer;
  const Result<std::string_view> read =
      sys::read_whole_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buffer, 128);
  return read ? std::string(read->substr(0, read->find('\n'))) : std::string();
}

// Whoever makes or takes the folder may lose it before it is locked: to a janitor, who sees a
// folder that nobody holds, or to an owner who is removing it. Then the next round makes it anew.
Result<Entry> Entry::claim(const RuntimeDir& directory, const Record& record,
                           const std::string& cgroup_mount) {
  constexpr int kRounds = 50;
  constexpr int kPatience = 5;  // rounds in which the holder may turn out to be a janitor
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2'000'000};
  const std::string& id = record.id;
  if (!is_valid_id(id)) {
    return usage_error("name a sandbox " + shown(id),
                       "letters, digits, '.', '_' and '-', at most 64, the first no '.' or '-'");
  }
  const std::string state = TRY(encode(record));
  int in_use = 0;
  for (int round = 0; round < kRounds && in_use < kPatience; ++round) {
    if (round > 0) ::nanosleep(&kPause, nullptr);
    if (TRY(make_folder(directory, id))) {
      Fd folder = TRY(lock_new_folder(directory, id, state));
      if (folder) return Entry(std::move(folder), id);
      continue;
    }
    const Verdict verdict = remove_stale(directory, id, cgroup_mount);
    if (verdict.fate == Fate::InUse) ++in_use;
    if (verdict.fate == Fate::Kept) {
      return usage_error("start a sandbox named " + shown(id) +
                             ": what is left of an earlier one cannot be removed: " + verdict.why,
                         "`mayfly gc` tells more; or choose another --name");
    }
  }
  return usage_error("start a sandbox named " + shown(id) + ": one of that name is running",
                     "choose another --name, or end that one first");
}

Result<void> Entry::publish(const Record& record) {
  const std::string state = TRY(encode(record));
  TRY(sys::unlinkat(folder_, kNewStateFile, sys::Entry::File));
  TRY(sys::create_file_at(folder_, kNewStateFile, state));
  return sys::rename_at(folder_, kNewStateFile, kStateFile);
}

void Entry::remove(const RuntimeDir& directory) {
  if (!folder_) return;
  const bool emptied = sys::unlinkat(folder_, kStateFile, sys::Entry::File) &&
                       sys::unlinkat(folder_, kNewStateFile, sys::Entry::File);
  if (emptied) {
    static_cast<void>(sys::unlinkat(directory.fd(), id_.c_str(), sys::Entry::Directory));
  }
  folder_.reset();
}

}  // namespace mayfly::supervise
