#include "host/accounts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>

namespace mayfly::host {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Splits a line into exactly N fields; false if it has more or fewer.
template <std::size_t N>
bool fields_of(std::string_view line, std::array<std::string_view, N>& fields) {
  for (std::size_t i = 0; i < N; ++i) {
    const std::size_t colon = line.find(':');
    const bool last = i + 1 == N;
    if ((colon == std::string_view::npos) != last) return false;
    fields[i] = line.substr(0, colon);
    if (!last) line.remove_prefix(colon + 1);
  }
  return true;
}

template <class F>
void for_each_line(std::string_view text, F visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && line[0] != '#' && line.find('\0') == std::string_view::npos) visit(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

template <class Entry, class Matches>
const Entry* first(const std::vector<Entry>& entries, Matches matches) {
  for (const Entry& entry : entries) {
    if (matches(entry)) return &entry;
  }
  return nullptr;
}

}  // namespace

std::optional<std::uint32_t> parse_id(std::string_view text) {
  const auto id = parse_number<std::uint32_t>(text);
  return id == UINT32_MAX ? std::nullopt : id;
}

std::vector<PasswdEntry> parse_passwd(std::string_view text) {
  std::vector<PasswdEntry> entries;
  // A fresh page costs more than counting.
  entries.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  for_each_line(text, [&](std::string_view line) {
    std::array<std::string_view, 7> field;  // name password uid gid comment home shell
    if (!fields_of(line, field) || field[0].empty()) return;
    const auto uid = parse_id(field[2]), gid = parse_id(field[3]);
    if (!uid || !gid) return;
    entries.push_back({.name = std::string(field[0]),
                       .uid = *uid,
                       .gid = *gid,
                       .home = std::string(field[5]),
                       .shell = std::string(field[6])});
  });
  return entries;
}

std::vector<GroupEntry> parse_group(std::string_view text) {
  std::vector<GroupEntry> entries;
  entries.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  for_each_line(text, [&](std::string_view line) {
    std::array<std::string_view, 4> field;  // name password gid members
    if (!fields_of(line, field) || field[0].empty()) return;
    if (const auto gid = parse_id(field[2])) {
      entries.push_back({.name = std::string(field[0]), .gid = *gid});
    }
  });
  return entries;
}

std::vector<SubordinateRange> parse_subordinate(std::string_view text) {
  std::vector<SubordinateRange> ranges;
  for_each_line(text, [&](std::string_view line) {
    std::array<std::string_view, 3> field;
    if (!fields_of(line, field)) return;
    const auto begin = parse_number<std::uint32_t>(field[1]);
    const auto count = parse_number<std::uint64_t>(field[2]);
    if (begin && count) ranges.push_back({.first = *begin, .count = *count});
  });
  return ranges;
}

const PasswdEntry* find_user(const std::vector<PasswdEntry>& passwd, uid_t uid) {
  return first(passwd, [&](const PasswdEntry& entry) { return entry.uid == uid; });
}

const PasswdEntry* find_user(const std::vector<PasswdEntry>& passwd, std::string_view name) {
  return first(passwd, [&](const PasswdEntry& entry) { return entry.name == name; });
}

const GroupEntry* find_group(const std::vector<GroupEntry>& group, gid_t gid) {
  return first(group, [&](const GroupEntry& entry) { return entry.gid == gid; });
}

const GroupEntry* find_group(const std::vector<GroupEntry>& group, std::string_view name) {
  return first(group, [&](const GroupEntry& entry) { return entry.name == name; });
}

}  // namespace mayfly::host
