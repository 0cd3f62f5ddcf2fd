#include "collected.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace mayfly;
using supervise::Entry;
using supervise::Fate;
using supervise::Verdict;

namespace mayfly::test {
namespace {

std::string fate_name(Fate fate) {
  switch (fate) {
    case Fate::Removed:
      return "removed";
    case Fate::WouldRemove:
      return "would remove";
    case Fate::InUse:
      return "in use";
    case Fate::Kept:
      return "kept";
    case Fate::Gone:
      return "gone";
  }
  return "?";
}

}  // namespace

std::string collected(const supervise::RuntimeDir& directory, const supervise::GcRequest& request) {
  const Result<std::vector<Verdict>> verdicts = supervise::collect(directory, request);
  if (!verdicts) return describe(verdicts.error());
  std::vector<std::string> lines;
  for (const Verdict& verdict : *verdicts) {
    lines.push_back(verdict.what + " " + fate_name(verdict.fate) +
                    (verdict.why.empty() ? "" : ": " + verdict.why) + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines)
    text += line;
  return text;
}

void leave_entry(const supervise::RuntimeDir& directory, const supervise::Record& record) {
  const Result<Entry> entry = Entry::claim(directory, record, {});
  REQUIRE(entry);
}

supervise::Record record_of(const std::string& id, const std::string& cgroup, std::uint64_t inode) {
  return {.id = id,
          .name = {},
          .pid = 1,
          .boot_id = supervise::boot_id(),
          .started_ns = 1,
          .cgroup = cgroup,
          .cgroup_inode = inode,
          .labels = {}};
}

}  // namespace mayfly::test
