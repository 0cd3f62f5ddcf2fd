#include "init/interpreter.hpp"

#include <elf.h>

#include "init/kernel.hpp"

namespace mayfly::init {
namespace {

constexpr std::size_t kHeadSize = 256;  // as much as the kernel reads of a script's first line
constexpr int kMostInterpreters = 5;    // the kernel's own limit of a chain of scripts
constexpr unsigned kMostSegments = 64;

// Never waits, whatever the file is: a task may have put a FIFO there.
long open_to_read(const char* path) noexcept {
  return call(__NR_openat, AT_FDCWD, arg(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

std::size_t read_at(long file, void* to, std::size_t size, std::uint64_t offset) noexcept {
  const long count =
      call(__NR_pread64, file, arg(to), static_cast<long>(size), static_cast<long>(offset));
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

// Copies up to a terminator or the end of either; the name is empty if nothing comes before that.
template <class IsEnd>
void copy_name(const char* from, std::size_t size, IsEnd is_end, InterpreterName& name) noexcept {
  std::size_t length = 0;
  while (length < size && length < sizeof(name) - 1 && !is_end(from[length])) {
    name[length] = from[length];
    ++length;
  }
  name[length] = '\0';
}

void name_in_script(const char* head, std::size_t size, InterpreterName& name) noexcept {
  std::size_t start = 2;
  while (start < size && (head[start] == ' ' || head[start] == '\t'))
    ++start;
  copy_name(
      head + start, size - start,
      [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\0'; }, name);
}

template <class Header, class Segment>
void name_in_elf(long file, const char* head, InterpreterName& name) noexcept {
  const auto& header = *reinterpret_cast<const Header*>(head);
  if (header.e_phentsize != sizeof(Segment)) return;
  for (unsigned i = 0; i < header.e_phnum && i < kMostSegments; ++i) {
    Segment segment;
    if (read_at(file, &segment, sizeof segment, header.e_phoff + i * sizeof segment) !=
        sizeof segment)
      return;
    if (segment.p_type != PT_INTERP) continue;
    InterpreterName bytes;
    const std::size_t size = segment.p_filesz < sizeof bytes ? segment.p_filesz : sizeof bytes;
    copy_name(
        bytes, read_at(file, bytes, size, segment.p_offset), [](char c) { return c == '\0'; },
        name);
    return;
  }
}

// Empty if the file names none.
void read_interpreter(long file, InterpreterName& name) noexcept {
  name[0] = '\0';
  alignas(8) char head[kHeadSize];
  const std::size_t size = read_at(file, head, sizeof head, 0);
  if (size > 2 && head[0] == '#' && head[1] == '!') return name_in_script(head, size, name);
  if (size < sizeof(Elf64_Ehdr) || head[0] != ELFMAG0 || head[1] != ELFMAG1 || head[2] != ELFMAG2 ||
      head[3] != ELFMAG3)
    return;
  if (head[EI_CLASS] == ELFCLASS64) name_in_elf<Elf64_Ehdr, Elf64_Phdr>(file, head, name);
  if (head[EI_CLASS] == ELFCLASS32) name_in_elf<Elf32_Ehdr, Elf32_Phdr>(file, head, name);
}

}  // namespace

bool find_missing_interpreter(const char* path, InterpreterName& missing) noexcept {
  long file = open_to_read(path);
  for (int i = 0; i < kMostInterpreters && file >= 0; ++i) {
    read_interpreter(file, missing);
    close(static_cast<int>(file));
    if (missing[0] == '\0') return false;
    file = open_to_read(missing);
    if (file == -ENOENT || file == -ENOTDIR) return true;
  }
  missing[0] = '\0';
  return false;
}

}  // namespace mayfly::init
