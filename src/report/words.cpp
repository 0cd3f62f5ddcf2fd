#include "report/words.hpp"

#include "policy/capabilities.hpp"

namespace mayfly::report {

std::string_view enforcement_name(plan::Enforcement enforcement) {
  switch (enforcement) {
    case plan::Enforcement::Enforced:
      return "enforced";
    case plan::Enforcement::Approximated:
      return "approximated";
    case plan::Enforcement::NotEnforced:
      return "not_enforced";
  }
  return "not_enforced";
}

std::vector<std::string> capability_names(std::uint64_t mask) {
  if (mask == ~std::uint64_t{0}) return {"all"};
  std::vector<std::string> names;
  for (unsigned number = 0; number < 64; ++number) {
    if ((mask >> number & 1) != 0) names.push_back(policy::capability_name(number));
  }
  return names;
}

std::string_view filter_name(const plan::Plan& plan) {
  if (plan.programs.are_chosen) return "custom";
  switch (plan.filter) {
    case plan::Filter::Default:
      return "default";
    case plan::Filter::Live:
      return "live";
    case plan::Filter::Nesting:
      return "unsafe-nesting";
    case plan::Filter::NestingLive:
      return "unsafe-nesting-live";
  }
  return "";
}

std::string_view refusals_name(plan::Refusals refusals) {
  switch (refusals) {
    case plan::Refusals::Silent:
      return "silent";
    case plan::Refusals::Told:
      return "told";
    case plan::Refusals::Fatal:
      return "fatal";
  }
  return "";
}

std::vector<std::string> unsafe_options(const spec::Spec& spec, const policy::Stands& stands) {
  std::vector<std::string> options;
  for (const std::string& group : stands.opened)
    options.push_back("--allow-syscalls " + group);
  for (const spec::FsEntry& entry : spec.fs) {
    if (entry.kind == spec::FsKind::Device) options.push_back("--device " + entry.source);
  }
  const spec::Unsafe& unsafe = spec.unsafe;
  if (unsafe.unsafe_keep_caps) options.push_back("--keep-caps");
  if (unsafe.unsafe_host_ids) options.push_back("--unsafe-ids=host");
  if (unsafe.unsafe_nesting) options.push_back("--unsafe-nesting");
  if (unsafe.unsafe_sockets) options.push_back("--unsafe-sockets");
  if (unsafe.unsafe_tty) options.push_back("--unsafe-tty");
  return options;
}

std::vector<spec::PolicySource> named_policies(const std::vector<spec::PolicySource>& policies) {
  if (!policies.empty()) return policies;
  return {{.name = "default", .file = {}}};
}

void write_policy(JsonWriter& json, const std::vector<spec::PolicySource>& policies) {
  const auto write_source = [&](const spec::PolicySource& source) {
    json.begin_object().member("name", source.name).key("file");
    source.file.empty() ? json.null() : json.value(source.file);
  };
  const std::vector<spec::PolicySource> all = named_policies(policies);
  json.key("policy");
  write_source(all.front());
  json.key("extends").begin_array();
  for (std::size_t i = 1; i < all.size(); ++i) {
    write_source(all[i]);
    json.end_object();
  }
  json.end_array().end_object();
}

std::string hexadecimal(std::uint64_t number) {
  std::string text = "0x";
  int shift = 60;
  while (shift > 0 && number >> shift == 0)
    shift -= 4;
  for (; shift >= 0; shift -= 4)
    text += "0123456789abcdef"[number >> shift & 0xF];
  return text;
}

// kind: later there are others, such as a connection that a rule of the network refuses.
void write_labels(JsonWriter& json, const supervise::Outcome& outcome) {
  json.key("labels").begin_object();
  for (const auto& [key, value] : outcome.labels)
    json.member(key, value);
  json.end_object();
}

void write_denial(JsonWriter& json, const supervise::Denial& denial) {
  json.member("kind", "syscall").member("name", denial.call).member("number", denial.number);
  json.member("answer", errno_name(denial.error)).member("count", denial.count);
}

void write_notes(JsonWriter& json, const std::vector<plan::Note>& notes) {
  json.key("notes").begin_array();
  for (const plan::Note& note : notes) {
    json.begin_object().member("what", note.what);
    json.member("enforcement", enforcement_name(note.enforcement));
    json.member("how", note.how).end_object();
  }
  json.end_array();
}

}  // namespace mayfly::report
