// The supervisor is trusted, its memory is not: whatever a request says, init neither reads outside
// it, nor hangs, nor executes what was not asked for.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/bpf_common.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

#include "harness.hpp"

using namespace mayfly;
using namespace mayfly::init::test;

namespace {

// With no program in it that exists: no mutation of it can execute anything.
Spawn harmless() {
  Spawn request;
  request.argv = {"/nonexistent/program", "one", "two"};
  request.env = {"A=1", "B=2"};
  request.paths = {"/nonexistent/program", "/nonexistent/other"};
  request.filter = {BPF_STMT(BPF_RET | BPF_K, 0x7fff0000)};
  request.stacked = {request.filter, request.filter};
  request.rlimits = {{.resource = RLIMIT_STACK, .unused = 0, .soft = 1 << 20, .hard = 1 << 20}};
  return request;
}

using Edit = std::function<void(SpawnHeader&)>;

std::string edited(const Edit& edit) {
  std::string bytes = harmless().bytes();
  SpawnHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  edit(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

// The check alone, on memory of exactly the request's size.
std::string wrong_field_of(const std::string& bytes) {
  const auto words = std::make_unique<std::uint64_t[]>((bytes.size() + 7) / 8);
  std::memcpy(words.get(), bytes.data(), bytes.size());
  const char* field = init::wrong_field(
      {.bytes = reinterpret_cast<const char*>(words.get()), .size = bytes.size()});
  return field == nullptr ? "" : field;
}

// What init answers to the request. It must have ended after it.
Message refusal_of(Sandbox& sandbox) {
  const Message failed = sandbox.expect(Kind::Failed);
  CHECK(failed.step == Step::InitRequest);
  CHECK(failed.error == EBADMSG);
  CHECK(sandbox.is_at_end());
  CHECK(sandbox.wait() == launch::kInitRefused);
  return failed;
}

std::string refused_field(const Fd& memfd) {
  Sandbox sandbox({.place = Place::Plain});
  sandbox.wait_until_ready();
  sandbox.spawn_memfd(memfd);
  return refusal_of(sandbox).text;
}

void set_u32(std::string& bytes, std::uint64_t offset, std::uint32_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

}  // namespace

TEST_CASE("a well-formed request passes") {
  CHECK(wrong_field_of(harmless().bytes()) == "");
  CHECK(run_to_failure(harmless()).error == ENOENT);
}

TEST_CASE("each field that is wrong is refused by its name") {
  struct Case {
    const char* field;
    Edit edit;
  };
  const auto end = static_cast<std::uint32_t>(harmless().bytes().size());
  const Case cases[] = {
      {"magic", [](SpawnHeader& h) { h.magic ^= 1; }},
      {"size", [](SpawnHeader& h) { h.size += 1; }},
      {"size", [](SpawnHeader& h) { h.size = 0; }},
      {"flags", [](SpawnHeader& h) { h.flags = 1u << 31; }},
      {"flags", [](SpawnHeader& h) { h.flags = launch::kTellRefusals; }},  // there is no listener
      {"argv", [](SpawnHeader& h) { h.argc = 0; }},
      {"argv", [](SpawnHeader& h) { h.argc = 0xFFFFFFFF; }},
      {"argv", [](SpawnHeader& h) { h.argv_offset = 0; }},  // the header itself
      {"argv", [](SpawnHeader& h) { h.argv_offset += 4; }},
      {"argv", [end](SpawnHeader& h) { h.argv_offset = (end + 7) / 8 * 8; }},
      {"argv", [](SpawnHeader& h) { h.argv_offset = 0xFFFFFFF8; }},
      {"env", [](SpawnHeader& h) { h.env_offset = 8; }},
      {"env", [](SpawnHeader& h) { h.env_offset = 0xFFFFFFF8; }},
      {"env", [](SpawnHeader& h) { h.envc = 1u << 30; }},
      {"path", [](SpawnHeader& h) { h.pathc = 0; }},
      {"path", [](SpawnHeader& h) { h.pathc = 0x40000001; }},  // × 4 wraps in 32 bits
      {"path", [](SpawnHeader& h) { h.path_offset = 0xFFFFFFF8; }},
      {"filter", [](SpawnHeader& h) { h.filter_count = BPF_MAXINSNS + 1; }},
      {"filter", [](SpawnHeader& h) { h.filter_offset = 0xFFFFFFF8; }},
      {"filter", [](SpawnHeader& h) { h.filter_offset += 1; }},
      {"filter",
       [](SpawnHeader& h) {
         h.filter_count = 0;
         h.flags = launch::kInitFilter;
       }},
      {"stacked filter", [](SpawnHeader& h) { h.stacked_count = launch::kMostStacked + 1; }},
      {"stacked filter", [](SpawnHeader& h) { h.stacked_count = 0xFFFFFFFF; }},
      {"stacked filter", [](SpawnHeader& h) { h.stacked_offset = 0; }},  // the header itself
      {"stacked filter", [](SpawnHeader& h) { h.stacked_offset += 4; }},
      {"stacked filter", [](SpawnHeader& h) { h.stacked_offset = 0xFFFFFFF8; }},
      {"stacked filter", [end](SpawnHeader& h) { h.stacked_offset = end / 8 * 8; }},
      {"rlimit", [](SpawnHeader& h) { h.rlimit_count = RLIM_NLIMITS + 1; }},
      {"rlimit", [](SpawnHeader& h) { h.rlimit_count = 16; }},  // past the end
      {"rlimit", [](SpawnHeader& h) { h.rlimit_offset = 0; }},
      {"chdir", [](SpawnHeader& h) { h.chdir_offset = 0; }},
      {"chdir", [](SpawnHeader& h) { h.chdir_offset += 1; }},  // not absolute: it is empty
      {"chdir", [end](SpawnHeader& h) { h.chdir_offset = end; }},
      {"chdir", [](SpawnHeader& h) { h.chdir_offset = 0xFFFFFFFF; }},
      {"umask", [](SpawnHeader& h) { h.umask = 01000; }},
      {"ids",
       [](SpawnHeader& h) {
         h.flags = launch::kSetIds;
         h.uid = 0xFFFFFFFF;  // setresuid would leave init's
       }},
      {"ids",
       [](SpawnHeader& h) {
         h.flags = launch::kSetIds;
         h.gid = 0xFFFFFFFF;
       }},
      {"deadline", [](SpawnHeader& h) { h.deadline_ns = -1; }},
  };
  for (const Case& wrong : cases) {
    const std::string bytes = edited(wrong.edit);
    CHECK(wrong_field_of(bytes) == wrong.field);
    CHECK(refused_field(sealed_memfd(bytes)) == wrong.field);
  }
}

TEST_CASE("the limit of core dumps cannot be asked for: it would silently stay what it is") {
  Spawn request = harmless();
  request.rlimits.push_back({.resource = RLIMIT_CORE, .unused = 0, .soft = 0, .hard = 0});
  CHECK(wrong_field_of(request.bytes()) == "core limit");
  CHECK(refused_field(sealed_memfd(request.bytes())) == "core limit");
}

TEST_CASE("each stacked filter must have instructions, not too many, and lie inside") {
  SpawnHeader header;
  const std::string bytes = harmless().bytes();
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto end = static_cast<std::uint32_t>(bytes.size());
  const launch::SpawnFilter wrong_ones[] = {
      {.count = 0, .offset = header.filter_offset},
      {.count = BPF_MAXINSNS + 1, .offset = header.filter_offset},
      {.count = 0x20000001, .offset = header.filter_offset},  // × 8 wraps in 32 bits
      {.count = 0xFFFFFFFF, .offset = header.filter_offset},
      {.count = BPF_MAXINSNS, .offset = header.filter_offset},  // past the end
      {.count = 1, .offset = 0},                                // the header itself
      {.count = 1, .offset = sizeof header - 8},
      {.count = 1, .offset = header.filter_offset + 4},
      {.count = 1, .offset = (end + 7) / 8 * 8},
      {.count = 1, .offset = 0xFFFFFFF8},
  };
  for (const launch::SpawnFilter& wrong : wrong_ones) {
    for (std::uint32_t which = 0; which < header.stacked_count; ++which) {
      CAPTURE(wrong.count);
      CAPTURE(wrong.offset);
      std::string edited = bytes;
      std::memcpy(edited.data() + header.stacked_offset + which * sizeof wrong, &wrong,
                  sizeof wrong);
      CHECK(wrong_field_of(edited) == "stacked filter");
      CHECK(refused_field(sealed_memfd(edited)) == "stacked filter");
    }
  }
}

TEST_CASE("each string must begin behind the header and end inside") {
  SpawnHeader header;
  const std::string bytes = harmless().bytes();
  std::memcpy(&header, bytes.data(), sizeof header);
  struct Table {
    const char* field;
    std::uint32_t offset;
  };
  for (const Table& table : {Table{"argv", header.argv_offset}, Table{"env", header.env_offset},
                             Table{"path", header.path_offset}}) {
    for (const std::uint32_t string :
         {0u, std::uint32_t(sizeof header) - 1, std::uint32_t(bytes.size()), 0xFFFFFFFFu}) {
      std::string wrong = bytes;
      set_u32(wrong, table.offset + 4, string);
      CHECK(wrong_field_of(wrong) == table.field);
      CHECK(refused_field(sealed_memfd(wrong)) == table.field);
    }
  }
  // No NUL at the end: the string there, and it alone, is open.
  std::string open_end = bytes + "open";
  header.size = open_end.size();
  std::memcpy(open_end.data(), &header, sizeof header);
  CHECK(wrong_field_of(open_end) == "");
  set_u32(open_end, header.argv_offset + 4, static_cast<std::uint32_t>(bytes.size()));
  CHECK(wrong_field_of(open_end) == "argv");
  CHECK(refused_field(sealed_memfd(open_end)) == "argv");
}

TEST_CASE("a million offsets into one long string are checked in no time worth naming") {
  std::string bytes(15 << 20, 'x');
  SpawnHeader header;
  header.size = bytes.size();
  header.argc = 1 << 20;
  header.argv_offset = 8 << 20;
  header.pathc = 1;
  header.path_offset = header.chdir_offset = sizeof header;
  std::memcpy(bytes.data(), &header, sizeof header);
  for (std::uint32_t i = 0; i < header.argc; ++i)
    set_u32(bytes, header.argv_offset + i * 4, sizeof header);
  bytes.back() = '\0';
  CHECK(wrong_field_of(bytes) == "path");  // "xxxx" is no offset
}

TEST_CASE("a memfd that lacks a seal, or is none, is refused") {
  const std::string bytes = harmless().bytes();
  for (const int missing : {F_SEAL_WRITE, F_SEAL_SHRINK, F_SEAL_GROW}) {
    const int seals = (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) & ~missing;
    CHECK(refused_field(memfd_with_seals(bytes, seals)) == "seals");
  }
  CHECK(refused_field(Fd(open("/dev/null", O_RDWR | O_CLOEXEC))) == "seals");
  CHECK(refused_field(Fd(open("/etc/passwd", O_RDONLY | O_CLOEXEC))) == "seals");
}

TEST_CASE("a request that is too short or too long is refused") {
  const std::string bytes = harmless().bytes();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, sizeof(SpawnHeader) - 1})
    CHECK(refused_field(sealed_memfd(bytes.substr(0, size))) == "size");
  CHECK(refused_field(sealed_memfd(bytes.substr(0, bytes.size() - 1))) == "size");
  CHECK(refused_field(sealed_memfd(std::string(launch::kMostSpawnBytes + 1, '\0'))) == "size");
}

TEST_CASE("a message that the protocol does not have ends init") {
  const auto answer_to = [](const std::function<void(Sandbox&)>& speak) {
    Sandbox sandbox({.place = Place::Plain});
    sandbox.wait_until_ready();
    speak(sandbox);
    return std::string(refusal_of(sandbox).text);
  };
  const Fd memfd = sealed_memfd(harmless().bytes());
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const int m = memfd.get(), n = null.get();
  Message spawn;
  spawn.kind = Kind::Spawn;
  Message message;

  CHECK(answer_to([&](Sandbox& s) { s.send_bytes(&spawn, sizeof spawn - 1); }) == "record");
  char longer[sizeof(Message) + 1] = {};
  CHECK(answer_to([&](Sandbox& s) { s.send_bytes(longer, sizeof longer); }) == "record");
  CHECK(answer_to([&](Sandbox& s) { s.send_bytes("x", 1); }) == "record");
  for (const std::initializer_list<int>& descriptors :
       {std::initializer_list<int>{}, {m}, {m, n, n}})
    CHECK(answer_to([&](Sandbox& s) { s.send(spawn, descriptors); }) == "descriptors");
  CHECK(answer_to([&](Sandbox& s) { s.send(spawn, {m, n, n, n, n}); }) == "record");
  spawn.slot = launch::kMostSlots;
  CHECK(answer_to([&](Sandbox& s) { s.send(spawn, {m, n, n, n}); }) == "slot");

  for (const Kind kind : {Kind::Go, Kind::Image, Kind::Ready, Kind::Failed, Kind::Started,
                          Kind::Exited, Kind{0}, Kind{99}, Kind{0xFFFFFFFF}}) {
    message.kind = kind;
    CHECK(answer_to([&](Sandbox& s) { s.send(message); }) == "kind");
  }
  message.kind = Kind::Signal;
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-9}, std::int64_t{65}}) {
    message.value = number;
    CHECK(answer_to([&](Sandbox& s) { s.send(message); }) == "signal");
  }
  message.value = 9;
  CHECK(answer_to([&](Sandbox& s) { s.send(message, {n}); }) == "descriptors");
  message.slot = launch::kMostSlots;
  CHECK(answer_to([&](Sandbox& s) { s.send(message); }) == "slot");
  message.kind = Kind::Deadline;
  message.value = -1;
  CHECK(answer_to([&](Sandbox& s) { s.send(message); }) == "deadline");
}

TEST_CASE("a slot is taken until its task has ended") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Spawn request;
  request.argv = {"/bin/sleep", "1000"};
  const Fd output = sandbox.spawn(request);
  sandbox.expect(Kind::Started);
  sandbox.spawn(request);
  CHECK(std::string(refusal_of(sandbox).text) == "slot");
  CHECK(read_all(output).empty());  // and the sandbox is gone with it
}

TEST_CASE("random mutations of a request never hang init nor execute anything") {
  std::mt19937 random(20240229);
  const std::string valid = harmless().bytes();
  SpawnHeader header;
  std::memcpy(&header, valid.data(), sizeof header);
  // The header and the tables; a changed letter in a string is no malformation.
  const std::uint32_t places[] = {0,
                                  header.argv_offset,
                                  header.env_offset,
                                  header.path_offset,
                                  header.filter_offset,
                                  header.stacked_offset,
                                  header.rlimit_offset};
  const auto mutate = [&] {
    std::string bytes = valid;
    for (auto edits = 1 + random() % 3; edits > 0; --edits) {
      const std::uint32_t place = places[random() % std::size(places)];
      const std::size_t length = place == 0 ? sizeof header : 12;
      const std::size_t at = std::min(place + random() % length, bytes.size() - 1);
      bytes[at] = static_cast<char>(random() % 4 == 0 ? random()
                                                      : static_cast<unsigned char>(bytes[at]) ^
                                                            1U << random() % 8);
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    return bytes;
  };

  SUBCASE("the check alone: what it passes lies inside") {
    int passed = 0;
    for (int i = 0; i < 50'000; ++i) {
      const std::string bytes = mutate();
      if (wrong_field_of(bytes) != "") continue;
      ++passed;
      SpawnHeader mutated;
      std::memcpy(&mutated, bytes.data(), sizeof mutated);
      const auto check_strings = [&](std::uint32_t count, std::uint32_t offset) {
        for (std::uint32_t k = 0; k < count; ++k) {
          std::uint32_t string;
          REQUIRE(offset + 4 * (k + 1) <= bytes.size());
          std::memcpy(&string, bytes.data() + offset + 4 * k, sizeof string);
          REQUIRE(bytes.find('\0', string) != std::string::npos);
        }
      };
      check_strings(mutated.argc, mutated.argv_offset);
      check_strings(mutated.envc, mutated.env_offset);
      check_strings(mutated.pathc, mutated.path_offset);
      for (std::uint32_t k = 0; k < mutated.stacked_count; ++k) {
        launch::SpawnFilter filter;
        REQUIRE(mutated.stacked_offset + sizeof filter * (k + 1) <= bytes.size());
        std::memcpy(&filter, bytes.data() + mutated.stacked_offset + sizeof filter * k,
                    sizeof filter);
        REQUIRE(filter.offset + sizeof(sock_filter) * filter.count <= bytes.size());
      }
    }
    CHECK(passed > 100);  // some are well-formed: the check does not refuse everything
  }
  SUBCASE("init itself") {
    for (int i = 0; i < 250; ++i) {
      const std::string bytes = mutate();
      Sandbox sandbox({.place = Place::Plain});
      sandbox.wait_until_ready();
      sandbox.spawn_memfd(sealed_memfd(bytes));
      // A deadline may have been mutated to pass at once; then init ends without a word.
      if (!sandbox.is_at_end()) {
        const Message answer = sandbox.receive();
        CHECK((answer.kind == Kind::Failed || answer.kind == Kind::ExecFailed));
        CHECK(sandbox.is_at_end());
      }
      const int code = sandbox.wait();
      CHECK((code == launch::kInitDone || code == launch::kInitRefused ||
             code == launch::kInitBroken || code == launch::kInitDeadline));
    }
    // Without a pid namespace a child that was still on its way outlived its init, and is ours now.
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}
