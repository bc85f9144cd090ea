"""What a worker gives up before it reads its first byte: the network, most of the memory, files, and its parent's life.

Linux has two locks and we turn both that turn: an empty network namespace, and a system call filter that refuses
sockets (it works where a container forbids namespaces). Where neither exists, Python's own sockets are refused.
"""

from __future__ import annotations

import ctypes
import platform
import resource
import signal
import struct
import sys

from connectors.sync.parse.limits import Limits

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000  # <sched.h>
_PDEATHSIG, _NO_NEW_PRIVS, _SET_SECCOMP, _SECCOMP_FILTER = 1, 38, 22, 2  # <sys/prctl.h>
_LARGEST_FILE = 16_000_000  # bytecode caches only
_OPEN_FILES = 128

# Numbers from the kernel's tables: socket, socketpair, io_uring_setup, ptrace, process_vm_readv, process_vm_writev,
# bpf, userfaultfd, mount, setns, keyctl.
_REFUSED = {
    "x86_64": (0xC000003E, (41, 53, 425, 101, 310, 311, 321, 323, 165, 308, 250)),
    "aarch64": (0xC00000B7, (198, 199, 425, 117, 270, 271, 280, 282, 40, 268, 219)),
}


def confine(limits: Limits) -> tuple[str, ...]:
    """Give everything up, for good. Returns the locks that hold: namespace, filter, python."""
    _tie_to_parent()
    _bound(limits)
    locks = tuple(name for name, lock in (("namespace", _leave_network), ("filter", _refuse_sockets)) if lock())
    if locks:
        return locks
    sys.addaudithook(_no_sockets)
    return ("python",)


def allow_seconds(seconds: float) -> None:
    """Processor time for the next document; past it the kernel ends the worker."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _bound(limits: Limits) -> None:
    megabyte = 1 << 20
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    if sys.platform == "linux":
        memory = limits.memory_mb * megabyte
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        # Address space also counts mapped libraries and reserved, untouched stretches.
        resource.setrlimit(resource.RLIMIT_AS, (memory + 1024 * megabyte, memory + 1024 * megabyte))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _tie_to_parent() -> None:
    """When the parent is killed, so is a worker in the middle of a document."""
    if sys.platform == "linux":
        _libc().prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _leave_network() -> bool:
    return sys.platform == "linux" and bool(_libc().unshare(_NEW_USER | _NEW_NET) == 0)


def _refuse_sockets() -> bool:
    known = _REFUSED.get(platform.machine())
    if sys.platform != "linux" or known is None:
        return False
    code = _program(*known)
    buffer = ctypes.create_string_buffer(code)

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    program = Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc = _libc()
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, ctypes.byref(program), 0, 0) == 0)


def _program(architecture: int, refused: tuple[int, ...]) -> bytes:
    """A classic BPF program: another architecture is killed; refused calls fail with EACCES; the rest pass."""
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    kill, fail, allow = 0x80000000, 0x00050000 | 13, 0x7FFF0000
    count = len(refused)
    steps = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, architecture),
        (answer, 0, 0, kill),
        (load, 0, 0, 0),  # the number of the call
        (at_least, count + 1, 0, 0x40000000),  # the x32 numbering
        *((equal, count - i, 0, number) for i, number in enumerate(refused)),  # a match jumps to `fail`
        (answer, 0, 0, allow),
        (answer, 0, 0, fail),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _no_sockets(event: str, _arguments: object) -> None:
    if event.startswith("socket."):
        raise PermissionError("a document's reader has no network")
