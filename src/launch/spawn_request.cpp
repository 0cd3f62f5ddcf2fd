#include "launch/spawn_request.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "launch/protocol.hpp"
#include "sys/mounts.hpp"

namespace mayfly::launch {
namespace {

class Writer {
 public:
  Writer() { bytes_.resize(sizeof(SpawnHeader)); }

  // Appends the strings and a table of their offsets; returns the table's offset.
  std::uint32_t strings(const std::vector<std::string>& texts) {
    std::vector<std::uint32_t> offsets;
    offsets.reserve(texts.size());
    for (const std::string& text : texts)
      offsets.push_back(string(text));
    return raw(offsets.data(), offsets.size() * sizeof(std::uint32_t));
  }

  std::uint32_t string(const std::string& text) {
    const auto offset = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(text.c_str(), text.size() + 1);
    return offset;
  }

  std::uint32_t raw(const void* data, std::size_t size) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    const auto offset = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(static_cast<const char*>(data), size);
    return offset;
  }

  std::string& finish(SpawnHeader& header) {
    header.size = bytes_.size();
    std::memcpy(bytes_.data(), &header, sizeof header);
    return bytes_;
  }

 private:
  std::string bytes_;
};

std::uint64_t total_size(const plan::Plan& plan) {
  std::uint64_t size = sizeof(SpawnHeader);
  for (const auto* texts : {&plan.argv, &plan.env, &plan.program_paths}) {
    for (const std::string& text : *texts)
      size += text.size() + 1 + sizeof(std::uint32_t);
  }
  return size;
}

std::vector<SpawnRlimit> limits_of(const plan::Plan& plan) {
  std::vector<SpawnRlimit> limits;
  for (const plan::Rlimit& limit : plan.task_rlimits) {
    limits.push_back({.resource = static_cast<std::uint32_t>(limit.resource),
                      .soft = limit.soft,
                      .hard = limit.hard});
  }
  return limits;
}

}  // namespace

Result<Fd> make_spawn_request(const plan::Plan& plan, const SpawnExtras& extras) {
  const std::span<const sock_filter> filter = extras.filter;
  if (total_size(plan) + filter.size_bytes() > kMostSpawnBytes / 2) {
    return Error{.kind = ErrorKind::Usage,
                 .sys_errno = E2BIG,
                 .action = "run the command: its arguments and environment are too long",
                 .call = {},
                 .hint = "pass long data in a file or on standard input"};
  }
  Writer writer;
  SpawnHeader header;
  header.argc = static_cast<std::uint32_t>(plan.argv.size());
  header.argv_offset = writer.strings(plan.argv);
  header.envc = static_cast<std::uint32_t>(plan.env.size());
  header.env_offset = writer.strings(plan.env);
  header.pathc = static_cast<std::uint32_t>(plan.program_paths.size());
  header.path_offset = writer.strings(plan.program_paths);
  header.filter_count = static_cast<std::uint32_t>(filter.size());
  header.filter_offset = writer.raw(filter.data(), filter.size_bytes());
  const std::vector<SpawnRlimit> limits = limits_of(plan);
  header.rlimit_count = static_cast<std::uint32_t>(limits.size());
  header.rlimit_offset = writer.raw(limits.data(), limits.size() * sizeof(SpawnRlimit));
  std::vector<SpawnFilter> stacked;
  for (const policy::Program& program : plan.programs.task) {
    stacked.push_back(
        {.count = static_cast<std::uint32_t>(program.code.size()),
         .offset = writer.raw(program.code.data(), program.code.size() * sizeof(sock_filter))});
  }
  header.stacked_count = static_cast<std::uint32_t>(stacked.size());
  header.stacked_offset = writer.raw(stacked.data(), stacked.size() * sizeof(SpawnFilter));
  header.chdir_offset = writer.string(plan.chdir);
  header.umask = plan.umask;
  header.uid = plan.ids.task_uid;
  header.gid = plan.ids.task_gid;
  header.deadline_ns = extras.deadline_ns;
  header.ignored_signals = extras.ignored_signals;
  if (!filter.empty()) header.flags |= kInitFilter;  // the stock filters allow init's own calls
  if (!filter.empty() && plan.refusals != plan::Refusals::Silent) header.flags |= kTellRefusals;
  if (plan.ids.range) header.flags |= kSetIds;
  if (plan.linger) header.flags |= kLinger;
  if (plan.terminal) header.flags |= kForegroundJob;
  header.keep_capabilities = plan.keep_capabilities;
  return sys::sealed_memfd("mayfly-spawn", writer.finish(header), sys::Executable::No);
}

}  // namespace mayfly::launch
