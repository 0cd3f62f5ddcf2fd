// The kernel's own files: what could change or reveal the host cannot be read or written.
#include <doctest/doctest.h>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// The shell script prints the path of each that could be opened.
std::string opened(const Words& paths, const std::string& how) {
  Words args = paths;
  const Ended ended =
      sh("for p do " + how + " && echo \"OPENED $p\"; done 2>/dev/null; :", {}, args);
  CHECK_MESSAGE(ended.started(), ended.err);
  return ended.out;
}

}  // namespace

TEST_CASE("files of /proc and /sys that reveal the host cannot be read") {
  const Words paths = {"/proc/kcore",
                       "/proc/kmsg",
                       "/proc/keys",
                       "/proc/key-users",
                       "/proc/timer_list",
                       "/proc/sched_debug",
                       "/proc/latency_stats",
                       "/proc/scsi/scsi",
                       "/proc/kpagecount",
                       "/proc/kpageflags",
                       "/proc/kpagecgroup",
                       "/proc/vmallocinfo",
                       "/proc/slabinfo",
                       "/sys/firmware/dmi/tables/DMI",
                       "/sys/kernel/debug/tracing/trace",
                       "/sys/kernel/security/lsm",
                       "/sys/fs/cgroup/cgroup.procs"};
  CHECK(opened(paths, "head -c 1 \"$p\" >/dev/null") == "");
}

TEST_CASE("files of /proc and /sys that change the host cannot be written") {
  const Words paths = {"/proc/sysrq-trigger",
                       "/proc/sys/kernel/core_pattern",
                       "/proc/sys/kernel/modprobe",
                       "/proc/sys/kernel/hostname",
                       "/proc/sys/kernel/randomize_va_space",
                       "/proc/sys/kernel/yama/ptrace_scope",
                       "/proc/sys/vm/drop_caches",
                       "/proc/sys/vm/overcommit_memory",
                       "/proc/sys/fs/suid_dumpable",
                       "/proc/sys/user/max_user_namespaces",
                       "/proc/irq/default_smp_affinity",
                       "/proc/bus/pci/devices",
                       "/proc/fs/nfsd/threads",
                       "/proc/mtrr",
                       "/proc/pressure/cpu",
                       "/proc/acpi/wakeup",
                       "/proc/1/oom_score_adj",
                       "/sys/kernel/uevent_helper",
                       "/sys/power/state"};
  // Not by the word `:`, at whose first failure a shell ends.
  CHECK(opened(paths, "true >>\"$p\"") == "");
}

TEST_CASE(
    "nothing below /proc/sys, /proc/irq, /proc/bus, /proc/fs and /sys can be opened for writing") {
  const Ended ended =
      run({}, {kProbe, "writable", "/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/sys"});
  CHECK(ended.code == 0);
  CHECK(ended.out.empty());
}

TEST_CASE("the probe finds what can be opened for writing") {
  const Ended ended =
      sh("mkdir -p /tmp/d/e; echo > /tmp/d/e/f; echo > /tmp/d/g; chmod 400 /tmp/d/g;"
         "/targets/probe writable /tmp/d");
  CHECK(ended.out == "/tmp/d/e/f\n");
}

TEST_CASE("/sys shows no firmware, no devices, no cgroups") {
  const Ended ended =
      sh("ls -A /sys/firmware /sys/fs/cgroup /sys/class/block /sys/module /sys/kernel/debug "
         "2>/dev/null | grep -v ':$' | grep .");
  CHECK(ended.started());
  CHECK(ended.out.empty());
}

TEST_CASE("devices: the harmless ones only, and no new ones") {
  const Ended ended =
      sh("ls /dev; mknod /tmp/disk b 254 0 2>&1; mknod /dev/mem2 c 1 1 2>&1; cat /tmp/disk 2>&1");
  for (const char* device : {"kmsg", "mem", "kmem", "port", "vda", "sda", "fuse", "kvm", "loop",
                             "tty0", "console", "vsock", "net"}) {
    CAPTURE(device);
    CHECK_FALSE(contains("\n" + ended.out, "\n" + std::string(device)));
  }
  CHECK(contains(ended.out, "null\n"));
  CHECK(contains(ended.out, "Operation not permitted"));
}
