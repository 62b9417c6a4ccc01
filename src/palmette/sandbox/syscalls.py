"""The system calls that a sandboxed program may not make, as a filter for the kernel.

Everything else is allowed: Spark, torch and the like need more calls than anyone could list. A filter sees only
numbers; namespaces and Landlock govern files and addresses.
"""

import errno
import platform
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_LOAD, _AND, _JUMP, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_OTHER_ABI = 0x40000000  # marks numbers of the x32 ABI, a second way to make the same calls
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""By machine: column of its numbers in the table, and the kernel's identifier."""

# fmt: off
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280), "chmod": (90, None),
    "chown": (92, None), "chroot": (161, 51), "clock_adjtime": (305, 266), "clock_settime": (227, 112),
    "clone": (56, 220), "clone3": (435, 435), "creat": (85, None), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "fchown": (93, 55),
    "fchownat": (260, 54), "fcntl": (72, 25), "file_setattr": (469, 469), "finit_module": (313, 273),
    "fremovexattr": (199, 16), "fsconfig": (431, 431), "fsetxattr": (190, 7), "fsmount": (432, 432),
    "fsopen": (430, 430), "fspick": (433, 433), "futimesat": (261, None), "init_module": (175, 105),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "io_setup": (206, 0), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioctl": (16, 29), "ioperm": (173, None),
    "iopl": (172, None), "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "lchown": (94, None), "lremovexattr": (198, 15),
    "lsetxattr": (189, 6), "memfd_create": (319, 279), "memfd_secret": (447, 447), "mknod": (133, None),
    "mknodat": (259, 33), "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "mq_open": (240, 180), "msgctl": (71, 187), "msgget": (68, 186), "msgrcv": (70, 188), "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264), "open": (2, None), "open_by_handle_at": (304, 265), "open_tree": (428, 428),
    "open_tree_attr": (467, 467), "openat": (257, 56), "openat2": (437, 437), "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438), "pivot_root": (155, 41), "prctl": (157, 167), "prlimit64": (302, 261),
    "process_madvise": (440, 440), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "quotactl_fd": (443, 443), "reboot": (169, 142),
    "removexattr": (197, 14), "removexattrat": (466, 466), "renameat2": (316, 276), "request_key": (249, 218),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "semctl": (66, 191), "semget": (64, 190), "semop": (65, 193),
    "semtimedop": (220, 192), "sendmmsg": (307, 269), "sendmsg": (46, 211), "sendto": (44, 206),
    "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268), "setpriority": (141, 140),
    "settimeofday": (164, 170), "setxattr": (188, 5), "setxattrat": (463, 463), "shmat": (30, 196), "shmctl": (31, 195),
    "shmget": (29, 194), "socket": (41, 198), "socketpair": (53, 199), "swapoff": (168, 225), "swapon": (167, 224),
    "symlink": (88, None), "symlinkat": (266, 36), "syslog": (103, 116), "truncate": (76, 45), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282), "utime": (132, None), "utimensat": (280, 88),
    "utimes": (235, None), "vmsplice": (278, 75),
}
# fmt: on

_OTHERS = "kcmp pidfd_getfd process_madvise process_vm_readv process_vm_writev ptrace"
_SYSTEM = (
    "acct adjtimex chroot clock_adjtime clock_settime delete_module fanotify_init finit_module fsconfig fsmount fsopen "
    "fspick init_module ioperm iopl kexec_file_load kexec_load mount mount_setattr move_mount name_to_handle_at "
    "open_by_handle_at open_tree open_tree_attr pivot_root quotactl quotactl_fd reboot setdomainname sethostname setns "
    "settimeofday swapoff swapon syslog umount2 unshare"
)
_KERNEL = "add_key bpf io_uring_enter io_uring_register io_uring_setup keyctl perf_event_open request_key userfaultfd"
_OUTLIVING = (
    "memfd_create memfd_secret mq_open msgctl msgget msgrcv msgsnd semctl semget semop semtimedop shmat shmctl shmget "
    "vmsplice"
)
"""Memory that is not attributed to a process (a pipe keeps a page, and with it all of a huge one), or that outlives
the processes that created it.
"""
_COMMON = "inotify_init inotify_init1 io_setup"
"""Resources that all of a user's processes, or the whole machine, share a limited number of."""
_LURES = "mknod mknodat symlink symlinkat"
"""In a folder shared by running programs, one could replace another's file by a link to anywhere, or by a pipe that
blocks readers. The error is that of file systems without them, which programs handle.
"""
_ATTRIBUTES = (
    "chmod chown fchmod fchmodat fchmodat2 fchown fchownat file_setattr fremovexattr fsetxattr futimesat lchown "
    "lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat utime utimensat utimes"
)
_MODES = {**{"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}, **{"creat": 1, "open": 2, "openat": 3}}
"""Calls that could make a file run with its owner's rights, with the relevant argument."""
_SET_USER = 0o4000
_PACE = {
    "ioprio_set": 1, "sched_setaffinity": 0, "sched_setattr": 0, "sched_setparam": 0, "sched_setscheduler": 0,
    "setpriority": 1,
}  # fmt: skip
"""Calls that change scheduling, with the argument that names the process: 0 for itself."""
_OF_A_USER = {"ioprio_set": 3, "setpriority": 2}
"""Those of them whose 0 means all of the user's processes if the first argument is this."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _TCP = 1, 2, 6
_NEW_NAMESPACES = 0x7E020080
_TYPE_INTO_TERMINAL = (0x5412, 0x541C)
_FAST_OPEN = 0x20000000
_SET_DUMPABLE = 4
_SET_LEASE = 1024
_LEAVE_DEVICE = 4  # flag of a rename that leaves a device in place of the file


class SyscallRule(NamedTuple):
    """A call that fails: always, if (argument & mask) is one of the values, or unless it is."""

    call: str
    error: int = errno.EPERM  # 0: the call does nothing and succeeds
    argument: int = 0
    mask: int = 0xFFFFFFFF
    values: Sequence[int] = ()
    unless: bool = False


def rules(
    *, own_files: bool, own_network: bool, guards_truncation: bool = True, shared: bool = False
) -> Iterator[SyscallRule]:
    """The rules for a program, depending on its other walls.

    Args:
        own_files: it has mounts and processes of its own. Otherwise neither Landlock nor a filter can determine whose
            attributes it would change or where a Unix socket leads: then attributes cannot be changed, Unix sockets
            exist in pairs only, and it can change only its own scheduling.
        own_network: it has a network of its own. Otherwise it may only use TCP, whose ports Landlock controls.
        guards_truncation: another wall protects outside files from truncation.
        shared: others use some of its files, so attributes cannot be changed.
    """
    yield from (SyscallRule(call) for call in f"{_OTHERS} {_SYSTEM} {_KERNEL}".split())
    others_are_tried = f"clone3 openat2 {_OUTLIVING} {_COMMON}"
    yield from (SyscallRule(call, errno.ENOSYS) for call in others_are_tried.split())
    for call, argument in _MODES.items():
        yield SyscallRule(call, argument=argument, mask=_SET_USER, values=(0,), unless=True)
    yield SyscallRule("clone", mask=_NEW_NAMESPACES, values=(0,), unless=True)
    yield from (SyscallRule(call) for call in _LURES.split())
    yield SyscallRule("renameat2", errno.EINVAL, argument=4, mask=_LEAVE_DEVICE, values=(0,), unless=True)
    yield SyscallRule("ioctl", argument=1, values=_TYPE_INTO_TERMINAL)
    yield from (SyscallRule(call, values=(value,)) for call, value in _OF_A_USER.items())
    yield SyscallRule("prctl", values=(_SET_DUMPABLE,))  # its memory could no longer be measured
    yield SyscallRule("prlimit64", values=(0,), unless=True)
    yield SyscallRule("fcntl", argument=1, values=(_SET_LEASE,))  # others that open the file would be blocked
    families = (_INET, _INET6, _NETLINK, *((_UNIX,) if own_files else ()))
    yield SyscallRule("socket", errno.EACCES, values=families, unless=True)
    if not own_network:
        yield from _only_tcp()
    if shared or not own_files:
        yield from (SyscallRule(call, 0) for call in _ATTRIBUTES.split())
    if not own_files:
        yield SyscallRule("socketpair", errno.EACCES, argument=1, mask=0xF, values=(_DATAGRAM,))
        for call, argument in _PACE.items():
            yield SyscallRule(call, argument=argument, values=(0,), unless=True)
    if not guards_truncation:
        yield SyscallRule("truncate")


def _only_tcp() -> Iterator[SyscallRule]:
    yield SyscallRule("socket", errno.EACCES, argument=1, mask=0xF, values=(_STREAM,), unless=True)
    yield SyscallRule("socket", errno.EACCES, argument=2, values=(0, _TCP), unless=True)
    for call, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):  # would connect without Landlock's control
        yield SyscallRule(call, argument=flags, mask=_FAST_OPEN, values=(0,), unless=True)


def filter_of(chosen: Iterable[SyscallRule], machine: str = "") -> bytes:
    """The filter in the kernel's format; empty for an unknown machine.

    Calls of another architecture end the program; those of x32 fail.
    """
    place, name = ARCHITECTURES.get(machine or platform.machine(), (None, 0))
    if place is None:
        return b""
    lines = [
        _line(_LOAD, _ARCHITECTURE),
        _line(_IF_EQUAL, name, true=1),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER),
        _line(_IF_AT_LEAST, _OTHER_ABI, false=1),
        _line(_RETURN, _ERROR | errno.ENOSYS),
    ]
    for rule in chosen:
        number = _NUMBERS[rule.call][place]
        if number is not None:
            body = [*_body(rule)]
            lines += [_line(_IF_EQUAL, number, false=len(body)), *body]
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _body(rule: SyscallRule) -> Iterator[bytes]:
    """The action for a matching number; leaves the number loaded if the rule does not apply."""
    fail, count = _line(_RETURN, _ERROR | rule.error), len(rule.values)
    if not rule.values:
        yield fail
        return
    yield _line(_LOAD, _ARGUMENTS + 8 * rule.argument)
    yield _line(_AND, rule.mask)
    for place, value in enumerate(rule.values):
        yield _line(_IF_EQUAL, value, true=count - place)
    if not rule.unless:
        yield _line(_JUMP, 1)
    yield fail
    yield _line(_LOAD, _NUMBER)


def _line(code: int, value: int, *, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)
