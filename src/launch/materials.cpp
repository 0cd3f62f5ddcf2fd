#include "launch/materials.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/landlock.hpp"
#include "isolate/layer.hpp"
#include "sys/entries.hpp"
#include "sys/mounts.hpp"

namespace mayfly::launch {
namespace {

Result<void> make_disk_layer(const plan::Plan& plan, const std::string& id, Materials& made) {
  isolate::disk_layer::Owner owner{.uid = ::geteuid(), .gid = ::getegid()};
  if (plan.ids.range) owner = {.uid = made.range.base, .gid = made.range.base};
  made.disk_layer = TRY(isolate::disk_layer::make(plan.layer_parent, id, owner));
  made.prepared.layer.on_disk = made.disk_layer.path;
  return {};
}

Result<void> open_descriptors(Materials& made) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return sys::errno_error("make the socket to init", "socketpair(SEQPACKET)");
  }
  made.child.socket = Fd(pair[0]);
  made.socket_child = Fd(pair[1]);
  made.supervisor = Fd(static_cast<int>(::syscall(__NR_pidfd_open, ::getpid(), 0)));
  if (!made.supervisor) return sys::errno_error("open our own pidfd", "pidfd_open");
  made.prepared.socket_parent = made.child.socket.get();
  made.prepared.socket_child = made.socket_child.get();
  made.prepared.supervisor = made.supervisor.get();
  return {};
}

}  // namespace

Result<void> prepare(const plan::Plan& plan, const StartRequest& request, Way way,
                     Materials& made) {
  Prepared& p = made.prepared;
  p.mounts = TRY(isolate::mounts::prepare(plan, way.layer));
  p.layer = isolate::layer::prepare(plan.layer_bytes, plan.layer_inodes);
  p.landlock = isolate::landlock::prepare(plan.landlock_abi);
  p.hooks = TestHooks::from_environment();
  p.user_ns = {.change = plan.ids.range, .drop_groups = !plan.ids.deny_setgroups};
  p.terminal = {.wanted = plan.terminal, .uid = plan.ids.task_uid, .gid = plan.ids.task_gid};
  p.hand_out_proc = plan.watch_processes;
  p.hostname = plan.hostname.c_str();
  p.hostname_size = plan.hostname.size();
  p.rlimits = &plan.rlimits;
  p.ban_user_namespaces = plan.ban_user_namespaces;
  p.new_session_keyring = plan.new_session_keyring;
  p.capabilities = {.keep = plan.keep_capabilities,
                    .change_ids = plan.ids.range,
                    .init_uid = plan.ids.init_uid,
                    .init_gid = plan.ids.init_gid};
  if (plan.ids.range) {
    made.range = TRY(isolate::user_ns::lock_range(request.id_lock_file, plan.ids.taken));
  }
  if (!plan.cgroup_parent.empty()) {
    made.cgroup = TRY(isolate::cgroup::make(plan.cgroup_parent, request.id));
    TRY(isolate::cgroup::limit(made.cgroup, plan.cgroup));
    p.unshare_cgroup = way.entry == CgroupEntry::ByMove;
  }
  if (way.layer == isolate::mounts::Upper::OnDisk) TRY(make_disk_layer(plan, request.id, made));
  return open_descriptors(made);
}

Result<void> check_disk_layer(const isolate::disk_layer::Made& layer, const Fd& entered) {
  const sys::Identity made = TRY(sys::fstat(layer.directory, layer.path));
  const sys::Identity found = TRY(sys::fstat(entered, layer.path));
  if (made.device == found.device && made.inode == found.inode) return {};
  return internal_error("use " + layer.path + " as the layer: another one took its place");
}

void discard(Materials& made) {
  if (!made.cgroup.path.empty()) static_cast<void>(isolate::cgroup::remove(made.cgroup.path));
  static_cast<void>(isolate::disk_layer::remove(made.disk_layer, 0));
}

}  // namespace mayfly::launch
