#!/usr/bin/python3 -IS
"""The first process of a stock kernel, whose files pack.py packed. ADDRESS, which comes from the
kernel's command line, is where peer.py is to listen."""

import ctypes
import fcntl
import os
import socket
import struct

# linux/sockios.h and linux/if.h
SIOCSIFFLAGS = 0x8914
SIOCSIFADDR = 0x8916
SIOCSIFNETMASK = 0x891C
IFF_UP = 1
# The number of the system call on x86-64.
FINIT_MODULE = 313

libc = ctypes.CDLL(None, use_errno=True)


def must(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(kind: bytes, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    must(libc.mount(kind, folder.encode(), kind, 0, None))


def load_module(path: str) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    must(libc.syscall(FINIT_MODULE, file, b"", 0))
    os.close(file)


def raise_interface(nic: bytes, address: str) -> None:
    """With this address, of 24 bits for the network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for request, value in [(SIOCSIFADDR, address), (SIOCSIFNETMASK, "255.255.255.0")]:
            packed = struct.pack("=16sHH4s16x", nic, socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(any_socket, request, packed)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("=16sH22x", nic, IFF_UP))


def main() -> None:
    mount(b"proc", "/proc")
    mount(b"devtmpfs", "/dev")
    for name in sorted(os.listdir("/modules")):
        load_module(f"/modules/{name}")
    address = os.environ["ADDRESS"]
    raise_interface(b"eth0", address)
    os.execv("/usr/bin/python3", ["python3", "-IS", "/peer.py", address])


main()
