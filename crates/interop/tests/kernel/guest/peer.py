"""Moves SCTP and DCCP sockets of the kernel that it runs on, as a test tells it over TCP.

Each control connection has a process of its own and at most one socket. A request is a line of
words, the last of which is the number of bytes that follow the line; an answer is of the same form.
Its first word is `error`, with the name of an errno behind it, or what the request's method says.
"""

import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import time

CONTROL_PORT = 7777
READ_MAX = 1 << 20
SEND_BUFFER = 1 << 19

# linux/sctp.h
MSG_EOR = 0x80
MSG_NOTIFICATION = 0x8000
SCTP_NODELAY = 3
SCTP_EVENTS = 11
SCTP_RECVRCVINFO = 32
SCTP_FRAGMENT_INTERLEAVE = 18
SCTP_AUTH_CHUNK = 21
SCTP_AUTH_KEY = 23
SCTP_AUTH_ACTIVE_KEY = 24
SCTP_SOCKOPT_BINDX_ADD = 100
SCTP_SOCKOPT_BINDX_REM = 101
SCTP_SOCKOPT_CONNECTX = 110
SCTP_INTERLEAVING_SUPPORTED = 125
SCTP_SNDINFO = 2
SCTP_RCVINFO = 3
SCTP_PRINFO = 5
SCTP_UNORDERED = 1
SCTP_ABORT = 4
SCTP_EOF = 0x200
SCTP_ASSOC_CHANGE = 0x8001
# linux/dccp.h
SOCK_DCCP = 6
IPPROTO_DCCP = 33
SOL_DCCP = 269
DCCP_SOCKOPT_SERVICE = 2
DCCP_SOCKOPT_CCID = 13
SO_RCVBUFFORCE = 33
POLICIES = {"reliable": 0, "lifetime": 0x10, "retransmissions": 0x20}
NOTIFICATIONS = {
    0x8002: "address",
    0x8003: "send-failed",
    0x8004: "error",
    0x8005: "shutdown",
    0x8006: "partial-delivery",
}
ASSOCIATION_CHANGES = ["up", "lost", "restarted", "shut-down", "cannot-start"]
PATH_STATES = ["inactive", "potentially-failed", "active", "unconfirmed"]

# struct sctp_event_subscribe: a byte for each kind of notification, of which the first is data's.
SUBSCRIPTIONS = bytes([1, 1, 1, 1, 1, 1, 1])

Answer = tuple[list[str], bytes]


class Peer:
    """One control connection and its SCTP socket, which is of the one-to-many style (RFC 6458
    section 3), because only that one can say why it aborts."""

    def __init__(self, control: socket.socket):
        self.control = control.makefile("rwb")
        self.socket: socket.socket | None = None
        self.association = 0
        self.partial = bytearray()

    def run(self) -> None:
        while line := self.control.readline():
            verb, *words, size = line.decode().split()
            payload = self.control.read(int(size))
            try:
                words, payload = getattr(self, verb)(payload, *words)
            except OSError as error:
                words, payload = ["error", errno.errorcode.get(error.errno, str(error))], b""
            self.control.write(" ".join([*words, f"{len(payload)}\n"]).encode() + payload)
            self.control.flush()

    def bind(self, _: bytes, port: str, *addresses: str) -> Answer:
        """Makes the socket, bound to these addresses. Answers `ok`."""
        family = socket.AF_INET6 if any(":" in a for a in addresses) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_SEQPACKET, socket.IPPROTO_SCTP)
        self.set_option(SCTP_SOCKOPT_BINDX_ADD, sockaddrs(int(port), addresses))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self.set_option(SCTP_EVENTS, SUBSCRIPTIONS)
        self.set_option(SCTP_RECVRCVINFO, 1)
        self.set_option(SCTP_NODELAY, 1)
        return ["ok"], b""

    def authenticate(self, _: bytes, number: str, secret: str) -> Answer:
        """Signs by this key, and takes DATA signed only (RFC 6458 sections 8.3.1 to 8.3.5).
        Answers `ok`."""
        key = struct.pack("=iHH", 0, int(number), len(secret)) + secret.encode()
        self.set_option(SCTP_AUTH_KEY, key)
        self.set_option(SCTP_AUTH_ACTIVE_KEY, struct.pack("=iHxx", 0, int(number)))
        self.set_option(SCTP_AUTH_CHUNK, b"\0")
        return ["ok"], b""

    def interleave(self, _: bytes) -> Answer:
        """Offers I-DATA, in associations to come (RFC 8260 section 4.3). Answers `ok`."""
        self.set_option(SCTP_FRAGMENT_INTERLEAVE, 2)
        self.set_option(SCTP_INTERLEAVING_SUPPORTED, struct.pack("=iI", 0, 1))
        return ["ok"], b""

    def add_address(self, _: bytes, port: str, address: str) -> Answer:
        """Answers `ok`."""
        self.set_option(SCTP_SOCKOPT_BINDX_ADD, sockaddrs(int(port), (address,)))
        return ["ok"], b""

    def delete_address(self, _: bytes, port: str, address: str) -> Answer:
        """Answers `ok`."""
        self.set_option(SCTP_SOCKOPT_BINDX_REM, sockaddrs(int(port), (address,)))
        return ["ok"], b""

    def listen(self, _: bytes) -> Answer:
        """Answers `ok`."""
        self.socket.listen()
        return ["ok"], b""

    def connect(self, _: bytes, port: str, *addresses: str) -> Answer:
        """Calls a peer, and waits until it answers. Answers `ok`."""
        self.set_option(SCTP_SOCKOPT_CONNECTX, sockaddrs(int(port), addresses))
        return ["ok"], b""

    def send(
        self, payload: bytes, stream: str, ppid: str, order: str, policy: str, value: str
    ) -> Answer:
        """Sends the payload as one message. Answers `ok` once the kernel took it."""
        flags = SCTP_UNORDERED if order == "unordered" else 0
        info = self.sndinfo(flags, int(stream), int(ppid))
        policy = struct.pack("=HxxI", POLICIES[policy], int(value))
        self.socket.sendmsg([payload], [info, (socket.IPPROTO_SCTP, SCTP_PRINFO, policy)])
        return ["ok"], b""

    def receive(self, _: bytes) -> Answer:
        """Waits for the next `message STREAM PPID ordered|unordered`, with its payload, or
        `notification KIND DETAIL`, with its bytes."""
        while True:
            data, ancillary, flags, _ = self.socket.recvmsg(READ_MAX, 256)
            if flags & MSG_NOTIFICATION:
                return self.notification(data)
            self.partial += data
            if flags & MSG_EOR:
                message, self.partial = bytes(self.partial), bytearray()
                return ["message", *rcvinfo(ancillary)], message

    def paths(self, _: bytes) -> Answer:
        """Answers `paths` with ADDRESS=STATE for each of the peer's addresses."""
        found = []
        with open("/proc/net/sctp/remaddr", encoding="ascii") as table:
            for address, owner, _, _, _, _, _, state in map(str.split, list(table)[1:]):
                if int(owner) == self.association:
                    found.append(f"{shortest(address)}={PATH_STATES[int(state)]}")
        return ["paths", *found], b""

    def shutdown(self, _: bytes) -> Answer:
        """Ends the association in order. Answers `ok` at once."""
        self.socket.sendmsg([], [self.sndinfo(SCTP_EOF)])
        return ["ok"], b""

    def abort(self, reason: bytes) -> Answer:
        """Aborts the association for a reason. Answers `ok`."""
        self.socket.sendmsg([reason], [self.sndinfo(SCTP_ABORT)])
        return ["ok"], b""

    def close(self, _: bytes) -> Answer:
        """Closes the socket. Answers `ok`."""
        self.socket.close()
        return ["ok"], b""

    def dccp_listen(self, _: bytes, port: str, service: str, *ccids: str) -> Answer:
        """Makes a DCCP socket that is open for callers of a service, under these CCIDs, if any are
        given. Answers `ok`."""
        self.make_dccp(service, ccids)
        self.socket.bind(("0.0.0.0", int(port)))
        self.socket.listen()
        return ["ok"], b""

    def dccp_accept(self, _: bytes) -> Answer:
        """Waits for a caller, who takes the socket's place. Answers `ok`."""
        self.socket, _ = self.socket.accept()
        return ["ok"], b""

    def dccp_connect(
        self, _: bytes, address: str, port: str, service: str, *ccids: str
    ) -> Answer:
        """Asks for a connection. Answers `ok` once it is there."""
        self.make_dccp(service, ccids)
        self.socket.connect((address, int(port)))
        return ["ok"], b""

    def dccp_send(self, _: bytes, count: str, size: str) -> Answer:
        """Sends datagrams that begin with their number. Answers `ok` once the kernel took all."""
        for number in range(int(count)):
            data = number.to_bytes(4, "big").ljust(int(size), b"x")
            while not self.try_send(data):
                time.sleep(0.001)
        return ["ok"], b""

    def dccp_count(self, _: bytes) -> Answer:
        """Reads until the peer closes or is silent for a minute: a sender whose timeouts back off
        may well be silent for some seconds. Answers `count DATAGRAMS BYTES`."""
        self.socket.settimeout(60)
        datagrams = size = 0
        try:
            while data := self.socket.recv(READ_MAX):
                datagrams, size = datagrams + 1, size + len(data)
        except TimeoutError:
            pass
        return ["count", str(datagrams), str(size)], b""

    def make_dccp(self, service: str, ccids: tuple[str, ...]) -> None:
        self.socket = socket.socket(socket.AF_INET, SOCK_DCCP, IPPROTO_DCCP)
        self.socket.setsockopt(SOL_DCCP, DCCP_SOCKOPT_SERVICE, struct.pack("!I", int(service)))
        if ccids:
            self.socket.setsockopt(SOL_DCCP, DCCP_SOCKOPT_CCID, bytes(map(int, ccids)))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)

    def try_send(self, data: bytes) -> bool:
        """False if the queue of the socket is full, for which DCCP sockets do not wait."""
        try:
            self.socket.send(data)
        except BlockingIOError:
            return False
        return True

    def shell(self, script: bytes) -> Answer:
        """Runs a shell script. Answers `done STATUS` with what it printed."""
        done = subprocess.run(
            ["/bin/sh", "-c", script.decode()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return ["done", str(done.returncode)], done.stdout

    def set_option(self, option: int, value: bytes | int) -> None:
        self.socket.setsockopt(socket.IPPROTO_SCTP, option, value)

    def sndinfo(self, flags: int, stream: int = 0, ppid: int = 0) -> tuple[int, int, bytes]:
        """`struct sctp_sndinfo`. The kernel carries the ppid as it is: its byte order is ours."""
        info = struct.pack("=HH4sIi", stream, flags, ppid.to_bytes(4, "big"), 0, self.association)
        return (socket.IPPROTO_SCTP, SCTP_SNDINFO, info)

    def notification(self, data: bytes) -> Answer:
        kind, _, _, change = struct.unpack_from("=HHIH", data)
        if kind != SCTP_ASSOC_CHANGE:
            return ["notification", NOTIFICATIONS.get(kind, hex(kind)), "-"], data
        (self.association,) = struct.unpack_from("=i", data, 16)
        return ["notification", "association", ASSOCIATION_CHANGES[change]], data


def sockaddrs(port: int, addresses: tuple[str, ...]) -> bytes:
    """`struct sockaddr_in` and `sockaddr_in6`, one behind the other."""
    packed = b""
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        raw = socket.inet_pton(family, address)
        flow = bytes(4) if family == socket.AF_INET6 else b""
        packed += struct.pack("=H", family) + struct.pack("!H", port) + flow + raw
        packed += bytes(4 if family == socket.AF_INET6 else 8)
    return packed


def shortest(address: str) -> str:
    """The kernel's tables write every zero of an IPv6 address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_ntop(family, socket.inet_pton(family, address))


def rcvinfo(ancillary: list[tuple[int, int, bytes]]) -> list[str]:
    """What `struct sctp_rcvinfo` says of a message: stream, ppid, order."""
    (info,) = [data for _, kind, data in ancillary if kind == SCTP_RCVINFO]
    stream, _, flags, ppid = struct.unpack_from("=HHHxx4s", info)
    order = "unordered" if flags & SCTP_UNORDERED else "ordered"
    return [str(stream), str(int.from_bytes(ppid, "big")), order]


def main() -> None:
    listener = socket.create_server((sys.argv[1], CONTROL_PORT))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        control, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            Peer(control).run()
            os._exit(0)
        control.close()


main()
