// The words for a mount or an entry of the new root that cannot be made.
#include "launch/mount_words.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>

#include "base/text.hpp"
#include "plan/covering.hpp"

namespace mayfly::launch {
namespace {

using plan::MountKind;
using plan::MountStep;
using plan::on_host;

std::string inside(const std::string& target) {
  return "/" + target;
}

std::string joined(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths)
    text += (text.empty() ? "" : ":") + shown(path);
  return text.empty() ? "an empty directory" : text;
}

std::string full_hint(const MountStep* over, Upper layer, const std::string& layer_parent) {
  if (over != nullptr && over->kind == MountKind::Tmpfs) {
    const std::string at = shown(inside(over->target));
    return "the tmpfs at " + at + " is full: give it more room, as by --tmpfs " + at + ":size=64M";
  }
  if (layer == Upper::OnDisk) {
    return "the layer is on disk, and the file system of " + shown(layer_parent) +
           " is full, or the caller's quota there: make room, or name another place by "
           "XDG_CACHE_HOME";
  }
  return "the layer is full: raise --layer-size or --layer-inodes";
}

// Whether what is at its target is as good: a mount point, or a directory that keeps its mode.
bool takes_what_is_there(const MountStep& step) {
  const auto is_kept = [](const plan::Node& node) {
    return node.kind == plan::Node::Kind::Dir && !node.sets_mode;
  };
  return step.kind != MountKind::Nodes ||
         std::all_of(step.skeleton.begin(), step.skeleton.end(), is_kept);
}

std::string read_only_hint(const MountStep* over, const MountStep& step) {
  const std::string host = over == nullptr ? std::string() : on_host(*over, step.target);
  const bool is_read_only = over != nullptr && over->access == plan::Access::ReadOnly;
  if (!is_read_only || host.empty())
    return "a part of the way there is read-only inside, or hidden";
  const std::string tree = shown(inside(over->target)) + ", which is read-only: ";
  if (takes_what_is_there(step)) {
    return "nothing can be made in " + tree + "make " + shown(host) +
           " on the host first, or show that with --cow";
  }
  struct stat info {};
  const bool is_there = ::lstat(host.c_str(), &info) == 0;
  return (is_there ? "it is there already, and nothing can be changed in "
                   : "nothing can be made in ") +
         tree + "leave it out, or show that tree copy-on-write (--cow, --project cow)";
}

std::string missing_hint(const MountStep* over, const std::string& target) {
  if (over != nullptr && plan::is_live(*over)) {
    return "nothing is made in " + shown(inside(over->target)) +
           ", which is live, since it would stay on the host: make " +
           shown(on_host(*over, target)) + " first, or show that tree with --cow";
  }
  if (over != nullptr && over->kind == MountKind::Proc) {
    return "nothing can be made in /proc: choose another target";
  }
  return {};
}

// Where a link of the host that is in the way leads, if that has the same path inside.
std::string link_hint(const MountStep* over, const std::string& target) {
  const std::string hint =
      "what is there, or a part of the way, is a symbolic link, and none is followed: name where "
      "it leads";
  if (over == nullptr || on_host(*over, over->target) != inside(over->target)) return hint;
  std::error_code failed;
  const std::string real = std::filesystem::canonical(on_host(*over, target), failed);
  return failed || !is_within(real, inside(over->target)) ? hint : hint + ", " + shown(real);
}

// What is to be said wherever something is put at a place; empty: nothing.
std::string place_hint(const MountStep* over, const MountStep& step, const Failure& failure) {
  const std::string& target = step.target;
  switch (failure.error) {
    case ENOSPC:
    case EDQUOT:
      return full_hint(over, failure.layer, failure.layer_parent);
    case EROFS:
      return read_only_hint(over, step);
    case ENOENT:
      return missing_hint(over, target);
    case EISDIR:
      return "a directory is there, and a file cannot be put on one: name a file in it, or another "
             "target";
    case ENOTDIR:
      return "what is there, or a part of the way, is a file, and a directory cannot be put on "
             "one: choose another target";
    case ELOOP:
      return link_hint(over, target);
    default:
      return {};
  }
}

std::string or_else(std::string hint, const char* other) {
  return hint.empty() ? other : std::move(hint);
}

Words overlay_words(const MountStep& step, std::string place, int error) {
  Words words;
  words.action = "put " + joined(step.lowers) + " at " + shown(inside(step.target));
  words.call = "overlay(lowerdir=" + joined(step.lowers) + ")";
  words.hint = std::move(place);
  if (error == EPERM) {
    words.kind = ErrorKind::HostUnsupported;
    words.hint = "this kernel refuses overlays in user namespaces; 5.14 or newer is needed";
  } else if (error == EINVAL) {
    words.hint =
        "a directory with other mounts below it, or on a file system that overlayfs does "
        "not take, cannot be a lower layer; name its parts, or use --ro or --rw";
  } else if (error == ENOENT && words.hint.empty()) {
    words.hint = "the mount point must exist inside, as a directory and not behind a symlink";
  }
  return words;
}

const char* bind_hint(const MountStep& step, int error) {
  if (is_within(step.target, "proc")) {
    return "nothing can be put into the sandbox's /proc: choose another target";
  }
  return error == EACCES || error == EPERM
             ? "the sandbox's user must have rights to it on the host"
             : "choose another target, one that the sandbox can make or has already";
}

const char* type_name(unsigned type) {
  switch (type) {
    case S_IFDIR:
      return "a directory";
    case S_IFREG:
      return "a file";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

Words node_words(const MountStep& step, std::string place, const Failure& failure) {
  const std::string name =
      shown(inside(step.skeleton.empty() ? step.target : step.skeleton.front().path));
  Words words{.action = "make " + name + " inside", .call = {}, .hint = std::move(place)};
  if (failure.in_way != 0) {
    words.action += std::string(": ") + type_name(failure.in_way) + " is there already";
    words.hint = "choose another target";
  } else if (failure.error == ELOOP || failure.error == ENOTDIR) {
    words.hint = "a parent that is a symlink or a file is refused";
  } else if (failure.error == EACCES || failure.error == EPERM) {
    words.hint =
        "what is there, or the directory that it is in, belongs to another user on the host, and "
        "so it does inside: choose another target";
  }
  return words;
}

Words proc_words(int error) {
  const bool refused = error == EPERM;
  return {.action = "mount /proc",
          .call = "fsmount(proc)",
          .hint = refused
                      ? "this system's own /proc is partly masked, as in a container: start the "
                        "container with an unmasked /proc (docker: --security-opt "
                        "systempaths=unconfined)"
                      : "",
          .kind = refused ? ErrorKind::HostUnsupported : ErrorKind::Setup};
}

struct Found {
  const MountStep* step = nullptr;
  const MountStep* over = nullptr;  // what is below it, at its place
};

Found find_step(const plan::Plan& plan, std::uint32_t index) {
  const std::span<const MountStep> mounts = plan.mounts;
  if (index < mounts.size()) {
    return {.step = &mounts[index],
            .over = plan::mount_over(mounts.first(index), mounts[index].target)};
  }
  index -= static_cast<std::uint32_t>(mounts.size());
  if (index >= plan.seals.size()) return {};
  return {.step = &plan.seals[index], .over = plan::mount_over(mounts, plan.seals[index].target)};
}

}  // namespace

Words mount_words(const plan::Plan& plan, std::uint32_t index, const Failure& failure) {
  const auto [step, over] = find_step(plan, index);
  if (step == nullptr) return {.action = "build the root", .call = {}, .hint = {}};
  const int error = failure.error;
  if (error == ESTALE && step->inode) {
    Error replaced =
        isolate::mounts::was_replaced(step->lowers.empty() ? step->source : step->lowers.front());
    return {.action = std::move(replaced.action), .call = {}, .hint = std::move(replaced.hint)};
  }
  const std::string at = shown(inside(step->target));
  std::string place = place_hint(over, *step, failure);
  switch (step->kind) {
    case MountKind::Overlay:
      return overlay_words(*step, std::move(place), error);
    case MountKind::Layer:
      return {.action = "make the root on the layer", .call = {}, .hint = std::move(place)};
    case MountKind::Nodes:
      return node_words(*step, std::move(place), failure);
    case MountKind::Bind:
      return {.action = "bind " + shown(step->source) + " on " + at +
                        (step->access == plan::Access::ReadOnly ? " read-only" : ""),
              .call = "move_mount(" + shown(step->source) + ", " + at + ")",
              .hint = or_else(std::move(place), bind_hint(*step, error))};
    case MountKind::Tmpfs:
      return {
          .action = "mount a tmpfs on " + at, .call = "fsmount(tmpfs)", .hint = std::move(place)};
    case MountKind::Proc:
      return proc_words(error);
    case MountKind::Devpts:
      return {.action = "mount /dev/pts", .call = "fsmount(devpts)", .hint = {}};
    case MountKind::Mask:
      return {.action = "mask " + at,
              .call = {},
              .hint = error == ELOOP
                          ? "it is a symbolic link, or behind one: mask what it points to"
                          : "it must be a file or directory of the sandbox"};
    case MountKind::ReadOnly:
      return {.action = "make " + at + " read-only",
              .call = "mount_setattr(" + at + ", RDONLY)",
              .hint = {}};
  }
  return {};
}

Words chdir_words(const plan::Plan& plan) {
  Words words{.action = "start in " + shown(plan.chdir),
              .call = "chdir(" + shown(plan.chdir) + ")",
              .hint = plan.chdir_is_asked
                          ? "--chdir names a directory inside, which the sandbox's user may enter"
                          : "the command starts where its caller is, else in its home directory, "
                            "and must be able to enter that: change its mode, or start elsewhere "
                            "by --chdir /"};
  const MountStep* over = plan::mount_over(plan.mounts, std::string_view(plan.chdir).substr(1));
  const bool is_home = plan.chdir == plan.ids.home;
  if (!is_home || over == nullptr || over->target.empty()) return words;
  words.hint = "the home directory lies in what is shown at " + shown(inside(over->target)) +
               ", which has none that the sandbox's user may enter: " + words.hint;
  return words;
}

}  // namespace mayfly::launch
