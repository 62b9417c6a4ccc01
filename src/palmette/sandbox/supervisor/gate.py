"""A network of its own: made here, handed to those who started this, who may join it or have sockets made in it.

Argument: the file descriptor of a Unix socket. To it goes one message: the file descriptors of the user and the
network namespace, or words that say why there are none. Then each message that comes, two numbers for the family and
the type of a socket, is answered with such a socket. Ends with whoever started it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from typing import Any

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    try:
        _leave()
    except OSError as error:
        channel.send(str(error).encode())
        return
    namespaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in ("user", "net")]
    socket.send_fds(channel, [b"made"], namespaces)
    while wanted := channel.recv(8):
        with socket.socket(*struct.unpack("=ii", wanted)) as made:
            socket.send_fds(channel, [b"made"], [made.fileno()])


def _leave() -> None:
    """Leaves the machine's network for one that has its own loopback and nothing else."""
    user, group = os.getuid(), os.getgid()
    libc: Any = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_USER | _NEW_NET) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"no namespaces: {os.strerror(code)}")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - as in tree.py
            file.write(text)
    with socket.socket() as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, _GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


if __name__ == "__main__":
    main()
