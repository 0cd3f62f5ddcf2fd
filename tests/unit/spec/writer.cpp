// What is printed as a spec is read as an equal one, whatever the spec.
#include "spec/writer.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <set>
#include <string>

#include "spec/entries.hpp"
#include "spec/lists.hpp"
#include "spec/reader.hpp"
#include "spec/setting_table.hpp"

using namespace mayfly;
using namespace mayfly::spec;

namespace {

// Specs that validate() takes, with what is hard to quote in all their texts.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  Spec spec() {
    Spec spec;
    spec.argv = {text(1)};
    while (chance())
      spec.argv.push_back(text(0));
    spec.root = pick<RootKind>({RootKind::Host, RootKind::Directory, RootKind::Empty});
    if (spec.root == RootKind::Directory) spec.root_dir = path();
    if (chance()) {
      spec.project_is_asked = true;
      spec.project = pick<ProjectMode>(
          {ProjectMode::Cow, ProjectMode::Rw, ProjectMode::Ro, ProjectMode::None});
      if (spec.project != ProjectMode::None && chance()) spec.project_dir = path();
    }
    while (chance()) {
      spec.fs.push_back(entry());
      if (!check_entries(spec.fs)) spec.fs.pop_back();  // one is in the other's way
    }
    while (chance())
      spec.env.push_back(rule());
    spec.chdir = chance() ? path() : "";
    spec.user = pick<std::string>({"", "root", "1:2"});
    spec.hostname = pick<std::string>({"a", "mayfly", "x-1.y"});
    spec.umask = number() % 01000;
    spec.stdin_kind = pick<StdinKind>({StdinKind::Inherit, StdinKind::Null, StdinKind::File});
    if (spec.stdin_kind == StdinKind::File) spec.stdin_file = path();
    spec.ttl =
        chance() ? std::nullopt : std::optional(Nanoseconds(1 + wide() % 90'000'000'000'000));
    if (spec.ttl && chance()) spec.ttl_max = *spec.ttl + Nanoseconds(number());
    if (chance()) spec.idle = Nanoseconds(1 + number());
    if (chance()) spec.cpu_time = Nanoseconds(1 + wide() % 90'000'000'000'000);
    if (chance()) spec.max_output = 1 + number();
    spec.tty = pick<TtyMode>({TtyMode::Auto, TtyMode::No});
    spec.control_fd = chance() ? -1 : static_cast<int>(3 + number() % 1000);
    spec.progress = chance();
    spec.grace = Nanoseconds(wide() % 1'000'000'000'000 * (chance() ? 1 : 1000));
    spec.seccomp_action = pick<SeccompAction>({SeccompAction::Errno, SeccompAction::Kill});
    spec.seccomp_file = chance() ? path() : "";
    for (const char* group : {"debugging", "ipc", "keyrings", "numa"}) {
      if (chance())
        spec.syscalls.push_back({.group = group, .stand = chance() ? Stand::Deny : Stand::Allow});
    }
    limits(spec.limits);
    for (bool* flag :
         {&spec.linger, &spec.keep_running, &spec.quiet, &spec.explain_denials,
          &spec.unsafe.unsafe_host_ids, &spec.unsafe.unsafe_nesting, &spec.unsafe.unsafe_sockets,
          &spec.unsafe.unsafe_tty, &spec.unsafe.unsafe_keep_caps})
      *flag = chance();
    // They exclude each other.
    if (spec.idle || spec.max_output || spec.progress) spec.unsafe.unsafe_tty = false;
    spec.status_fd = chance() ? -1 : static_cast<int>(3 + number() % 1000);
    spec.result_file = chance() ? "" : path();
    spec.name = pick<std::string>({"", "a_b", "1"});
    for (unsigned i = 0; chance(); ++i)
      spec.labels.emplace_back("l" + std::to_string(i), text(0));
    return spec;
  }

 private:
  std::uint64_t wide() { return engine_() * std::uint64_t{0x9E3779B97F4A7C15} >> 1; }
  unsigned number() { return static_cast<unsigned>(engine_() % 1'000'000); }
  bool chance() { return engine_() % 2 == 0; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[engine_() % values.size()];
  }
  std::string text(std::size_t least) {
    constexpr std::string_view kPieces[] = {"a",  ":", "=",    "\\",   "@",  ",ro", "\"",
                                            "\n", "ä", " ",    "\x01", "{",  "]",   "/",
                                            "#",  ".", "\x7f", "'",    "x=y"};
    std::string text;
    while (text.size() < least || chance())
      text += kPieces[engine_() % std::size(kPieces)];
    return text;
  }
  std::string path() {
    std::string path = "/p";
    while (chance()) {
      const std::string piece = text(1);
      if (piece.find('/') == piece.npos && piece.find_first_not_of('.') != piece.npos)
        path += "/" + piece;
    }
    return path;
  }
  void limits(Limits& limits) {
    if (chance()) limits.pids = 2 + number() % 100'000;
    if (chance()) limits.layer_bytes = (64u << 10) + wide() % (1ull << 40);
    limits.layer_inodes = 64 + number();
    if (chance()) limits.cpu_thousandths = 10 + number();
    // Far above all that is in memory here, as validate() wants it.
    if (chance()) limits.memory = (1ull << 62) + wide() % (1ull << 61);
    if (limits.memory) limits.swap = wide() % (1ull << 61);
    if (chance()) limits.resources.push_back({.name = "nofile", .soft = number(), .hard = {}});
    if (chance()) limits.resources.push_back({.name = "as", .soft = 5, .hard = 6 + wide() % 99999});
    while (chance())
      limits.io.push_back({.path = path(), .read_bytes = 1 + wide() % 999999, .write_ops = 7});
    if (chance()) limits.cgroup_parent = path();
    limits.layer = pick<LayerKind>({LayerKind::Auto, LayerKind::Memory, LayerKind::Disk});
    limits.strictness = pick<Strictness>({Strictness::Strict, Strictness::BestEffort});
  }
  FsEntry entry() {
    FsEntry entry;
    entry.kind = pick<FsKind>({FsKind::Ro, FsKind::Rw, FsKind::Cow, FsKind::Tmpfs, FsKind::File,
                               FsKind::Dir, FsKind::Symlink, FsKind::Mask, FsKind::Device});
    entry.target = path();
    const bool tree =
        entry.kind == FsKind::Ro || entry.kind == FsKind::Rw || entry.kind == FsKind::Cow;
    if (tree) entry.source = chance() ? entry.target : path();
    if (entry.kind == FsKind::Device) entry.source = entry.target;
    if (entry.kind == FsKind::Tmpfs && chance()) entry.size = 1 + wide() % (1u << 30);
    const bool has_mode =
        entry.kind == FsKind::Tmpfs || entry.kind == FsKind::File || entry.kind == FsKind::Dir;
    const bool may_be_sticky = entry.kind != FsKind::File;
    if (has_mode && chance()) entry.mode = number() % (may_be_sticky ? 02000 : 01000);
    if (entry.kind == FsKind::File) (chance() ? entry.data : entry.source) = chance() ? path() : "";
    if (entry.kind == FsKind::File && entry.source.empty()) entry.data = text(0);
    if (entry.kind == FsKind::Symlink) entry.data = text(1);
    return entry;
  }
  EnvRule rule() {
    if (chance())
      return {.kind = EnvKind::Set, .name = "A_" + std::to_string(number()), .value = text(0)};
    if (chance()) return {.kind = EnvKind::PassName, .name = "N.1"};
    return {.kind = EnvKind::PassPattern, .name = "L*"};
  }

  std::minstd_rand engine_;
};

Result<Spec> read(const std::string& text) {
  const Document document = TRY(parse_document("printed", text));
  Draft draft;
  draft.working_dir = "/elsewhere";
  const auto assignments = TRY(read_settings(document, DocumentKind::Spec, {}));
  TRY(apply_settings(draft, document, assignments));
  return draft.spec;
}

}  // namespace

namespace {

// "key" of the document, and "key.item" of its lists.
void add_keys(const std::string& text, std::set<std::string>& keys) {
  const Result<Document> document = parse_document("printed", text);
  REQUIRE(document);
  for (const Member& member : document->root.members) {
    keys.insert(member.key);
    for (const Node& item : member.value.items) {
      for (const Member& inner : item.members)
        keys.insert(member.key + "." + inner.key);
    }
    for (const Member& inner : member.value.members)
      keys.insert(member.key + "." + inner.key);
  }
}

}  // namespace

TEST_CASE("a printed spec has every setting that was made") {
  std::set<std::string> printed;
  for (unsigned seed = 1; seed <= 300; ++seed)
    add_keys(write_json(Random(seed).spec()).value(), printed);
  for (const Setting& setting : kSettings) {
    const bool has_items = setting.form == Form::Item || setting.item != nullptr;
    const std::string key =
        setting.document_key() + (has_items ? "." + std::string(setting.item_key()) : "");
    if (key == "env.file") continue;  // printed as what it sets
    CAPTURE(key);
    CHECK(printed.count(key) == 1);
  }
}

TEST_CASE("a printed spec is read as an equal one") {
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    const Spec spec = Random(seed).spec();
    const Result<void> valid = validate(spec);
    INFO("seed ", seed, (valid ? std::string() : ": " + describe(valid.error())));
    REQUIRE(valid);
    const Result<std::string> text = write_json(spec);
    REQUIRE(text);
    CAPTURE(*text);
    const Result<Spec> back = read(*text);
    INFO((back ? std::string() : describe(back.error())));
    REQUIRE(back);
    CHECK((*back == spec));
  }
}

TEST_CASE("what JSON cannot hold is refused with the setting") {
  Spec spec;
  spec.argv = {"true", "\xff"};
  CHECK(write_json(spec).error().action == "print \\xff as JSON (command): it is not UTF-8");
  CHECK(write_json(spec).error().hint.find("encode it") != std::string::npos);
}

TEST_CASE("every setting can be written, by itself or in a list") {
  std::set<std::string> lists;
  for (const ListKey& list : list_keys())
    lists.insert(list.key);
  for (const Setting& setting : kSettings) {
    CAPTURE(setting.name);
    const bool is_list =
        setting.form == Form::Item || setting.form == Form::Strings || setting.form == Form::Pairs;
    CHECK(is_list == (setting.text == nullptr));
    CHECK(is_list == (lists.count(setting.document_key()) == 1));
    CHECK((setting.argument == nullptr) == (setting.form == Form::Switch));
  }
}
