// Kernel constants that libc headers of the oldest supported distribution lack. The only place
// where such constants are written down. Sources: the kernel's include/uapi/linux/*.h.
// Plain macros' worth of data: included by the child half and by init.
#pragma once

#include <asm/unistd.h>

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_close_range
#define __NR_close_range 436
#endif

namespace mayfly::sys {

// include/uapi/linux/sched.h
inline constexpr unsigned long kCloneNewTime = 0x80;
inline constexpr unsigned long long kCloneIntoCgroup = 0x200000000ULL;  // 5.7

// include/uapi/linux/seccomp.h (5.19)
inline constexpr unsigned long kSeccompWaitKillable = 1UL << 5;

// include/uapi/linux/close_range.h (5.11)
inline constexpr unsigned kCloseRangeCloexec = 4;

// include/uapi/linux/memfd.h (6.3): an executable memfd even where vm.memfd_noexec=1
inline constexpr unsigned kMfdExec = 0x0010U;

// include/uapi/linux/mount.h
inline constexpr unsigned long kMountAttrRdonly = 0x1;
inline constexpr unsigned long kMountAttrNosuid = 0x2;
inline constexpr unsigned long kMountAttrNodev = 0x4;
inline constexpr unsigned long kMountAttrNoexec = 0x8;
inline constexpr unsigned long kMountAttrIdmap = 0x00100000;
inline constexpr unsigned kFsmountCloexec = 1;
inline constexpr unsigned kFsopenCloexec = 1;
inline constexpr unsigned kFsconfigSetFlag = 0;
inline constexpr unsigned kFsconfigSetString = 1;
inline constexpr unsigned kFsconfigCmdCreate = 6;
inline constexpr unsigned kMoveMountFEmptyPath = 0x4;
inline constexpr unsigned kMoveMountTEmptyPath = 0x40;
inline constexpr unsigned kOpenTreeClone = 1;
inline constexpr unsigned kOpenTreeCloexec = 02000000;
inline constexpr unsigned kAtRecursive = 0x8000;
inline constexpr unsigned kAtEmptyPath = 0x1000;
inline constexpr unsigned kAtSymlinkNofollow = 0x100;

struct MountAttr {
  unsigned long long attr_set = 0, attr_clr = 0, propagation = 0, userns_fd = 0;
};

// include/uapi/linux/openat2.h
inline constexpr unsigned long long kResolveNoXdev = 0x01;
inline constexpr unsigned long long kResolveNoMagiclinks = 0x02;
inline constexpr unsigned long long kResolveNoSymlinks = 0x04;
inline constexpr unsigned long long kResolveBeneath = 0x08;

struct OpenHow {
  unsigned long long flags = 0, mode = 0, resolve = 0;
};

// include/uapi/linux/landlock.h, up to ABI 5 (file system rights)
inline constexpr unsigned long long kLandlockFsRightsAbi1 = (1ULL << 13) - 1;
inline constexpr unsigned long long kLandlockFsRefer = 1ULL << 13;     // ABI 2
inline constexpr unsigned long long kLandlockFsTruncate = 1ULL << 14;  // ABI 3
inline constexpr unsigned long long kLandlockFsIoctlDev = 1ULL << 15;  // ABI 5
inline constexpr unsigned kLandlockCreateRulesetVersion = 1;
inline constexpr unsigned kLandlockRulePathBeneath = 1;

struct LandlockRulesetAttr {
  unsigned long long handled_access_fs = 0;
};
struct __attribute__((packed)) LandlockPathBeneath {
  unsigned long long allowed_access = 0;
  int parent_fd = -1;
};

// include/uapi/linux/keyctl.h
inline constexpr int kKeyctlJoinSessionKeyring = 1;

}  // namespace mayfly::sys
