"""Creates a network and passes it to its parent, which may join it or request sockets in it.

Argument: the file descriptor of a Unix socket. The gate first sends one message: the file descriptors of the user and
network namespaces, or the reason why there are none. It answers each further message, two numbers for the family and
the type of a socket, with such a socket. It ends with its parent.

Or a path, in a container, whose network already exists: the protocol is the same on the one connection to a Unix
socket of that path, and the first message has no namespaces.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from typing import Any

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_PATIENCE = 60.0  # seconds for the container's creator to connect


def main() -> None:
    is_here = sys.argv[1].startswith("/")
    channel = _called(sys.argv[1]) if is_here else socket.socket(fileno=int(sys.argv[1]))
    try:
        namespaces = [] if is_here else _left()
    except OSError as error:
        channel.send(str(error).encode())
        return
    socket.send_fds(channel, [b"made"], namespaces)
    while wanted := channel.recv(8):
        with socket.socket(*struct.unpack("=ii", wanted)) as made:
            socket.send_fds(channel, [b"made"], [made.fileno()])


def _called(path: str) -> socket.socket:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.settimeout(_PATIENCE)
        listening.bind(path)
        listening.listen(1)
        channel = listening.accept()[0]
    channel.settimeout(None)
    return channel


def _left() -> list[int]:
    """Moves to a network with only a loopback; returns its user and network namespaces."""
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
    return [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in ("user", "net")]


if __name__ == "__main__":
    main()
