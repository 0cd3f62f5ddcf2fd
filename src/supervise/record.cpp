// Record ↔ JSON. Written by our own writer, since every sandbox writes one; read with
// nlohmann-json, whose exceptions stay in this file.
#include <nlohmann/json.hpp>

#include "base/json_writer.hpp"
#include "spec/json_problem.hpp"
#include "supervise/registry.hpp"

namespace mayfly::supervise {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMostLabels = 1000;

Error malformed(std::string what) {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = 0,
               .action = "read a sandbox's state: " + std::move(what),
               .call = {},
               .hint = {}};
}

void read_member(const nlohmann::json& json, const char* name, std::string& into) {
  into = json.at(name).get<std::string>();
}

template <class Number>
void read_member(const nlohmann::json& json, const char* name, Number& into) {
  const nlohmann::json& value = json.at(name);
  if (!value.is_number_unsigned()) throw std::out_of_range(name);
  into = static_cast<Number>(value.get<std::uint64_t>());
}

Record from_json(const nlohmann::json& json) {
  Record record;
  if (json.at("v") != kVersion) throw std::out_of_range("v");
  read_member(json, "id", record.id);
  read_member(json, "name", record.name);
  read_member(json, "pid", record.pid);
  read_member(json, "boot_id", record.boot_id);
  read_member(json, "started_ns", record.started_ns);
  read_member(json, "cgroup", record.cgroup);
  read_member(json, "cgroup_inode", record.cgroup_inode);
  read_member(json, "layer", record.layer);
  read_member(json, "layer_inode", record.layer_inode);
  const nlohmann::json& labels = json.at("labels");
  if (!labels.is_object() || labels.size() > kMostLabels) throw std::out_of_range("labels");
  for (const auto& [key, value] : labels.items())
    record.labels.emplace_back(key, value.get<std::string>());
  return record;
}

}  // namespace

std::string to_json(const Record& record) {
  JsonWriter json;
  json.begin_object().member("v", kVersion).member("id", record.id).member("name", record.name);
  json.member("pid", record.pid).member("boot_id", record.boot_id);
  json.member("started_ns", record.started_ns).member("cgroup", record.cgroup);
  json.member("cgroup_inode", record.cgroup_inode).member("layer", record.layer);
  json.member("layer_inode", record.layer_inode).key("labels").begin_object();
  for (const auto& [key, value] : record.labels)
    json.member(key, value);
  json.end_object().end_object();
  return json.take() + "\n";
}

Result<Record> parse_record(std::string_view text) {
  if (text.size() > kMostStateBytes) return malformed("it is too large");
  if (spec::nul_in_json(text)) return malformed(spec::kNulInJson.what);
  try {
    return from_json(nlohmann::json::parse(text));
  } catch (const std::exception& problem) {
    return malformed(problem.what());
  }
}

}  // namespace mayfly::supervise
