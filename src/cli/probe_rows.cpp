#include "cli/probe_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/result.hpp"

namespace mayfly::cli {
namespace {

constexpr std::size_t kNameColumns = 20;
constexpr std::size_t kVerdictColumns = 11;

std::string padded(std::string_view text, std::size_t columns) {
  std::string column(text);
  column.append(columns - std::min(columns - 1, text.size()), ' ');
  return column;
}

std::string_view verdict_words(host::Verdict verdict) {
  return verdict == host::Verdict::NotTried ? "not tried" : host::verdict_name(verdict);
}

}  // namespace

std::string row_text(const host::ProbeRow& row) {
  std::string text = padded(row.name, kNameColumns);
  std::string detail = row.detail;
  if (row.error != 0) detail += (detail.empty() ? "" : ": ") + errno_name(row.error);
  if (detail.empty()) {
    text += verdict_words(row.verdict);
  } else {
    text += padded(verdict_words(row.verdict), kVerdictColumns) + detail;
  }
  text += '\n';
  if (row.verdict != host::Verdict::Fails) return text;
  const std::string indent(kNameColumns, ' ');
  if (row.need == host::Need::Always) text += indent + "no sandbox starts without it\n";
  if (!row.cause.empty()) text += indent + "cause: " + row.cause + "\n";
  if (!row.remedy.empty()) text += indent + "remedy: " + row.remedy + "\n";
  return text;
}

void write_row(JsonWriter& json, const host::ProbeRow& row) {
  json.begin_object().member("name", row.name);
  json.member("verdict", host::verdict_name(row.verdict));
  json.member("needed", row.need == host::Need::Always ? "always" : "sometimes");
  json.key("errno_name");
  if (row.error != 0) {
    json.value(errno_name(row.error));
  } else {
    json.null();
  }
  json.member("detail", row.detail).member("cause", row.cause).member("remedy", row.remedy);
  json.end_object();
}

}  // namespace mayfly::cli
