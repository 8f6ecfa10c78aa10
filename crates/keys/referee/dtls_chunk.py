#!/usr/bin/env python3
"""The DTLS chunk of SCTP and its keys, a second time, to hold the one in Rust to.

Written from the text of draft-ietf-tsvwg-sctp-dtls-chunk, draft-porfiri-tsvwg-sctp-dtls-handshake,
RFC 9147 and RFC 8446 alone. Needs the package `cryptography`.

    dtls_chunk.py write FILE    writes what the tests in Rust must seal, open and refuse alike
    dtls_chunk.py check FILE    reads whole associations of Rust's by their exporter secrets
    dtls_chunk.py read CAPTURE SECRETS OUT
                                opens what `--capture` recorded of one association, with what
                                SSLKEYLOGFILE got, and writes what both ends said
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
import sys
from dataclasses import dataclass
from typing import Any, Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

DTLS_CHUNK = 0x41
RESTART = 0x01
APPLICATION_DATA = 23
TAG_LENGTH = 16
IV_LENGTH = 12
EXPORTER_LABEL = "EXPORTER_TLS_FOR_DTLS_IN_SCTP"
KEY_MANAGEMENT_PARAMETER = 0x8006
TLS_FOR_DTLS_IN_SCTP = 192


class Refused(Exception):
    """A chunk that must be discarded, and why."""


def aes_mask(number_key: bytes, sample: bytes) -> bytes:
    """RFC 9147 section 4.2.3: AES-ECB on the first 16 bytes of the ciphertext."""
    encryptor = Cipher(algorithms.AES(number_key), modes.ECB()).encryptor()
    return encryptor.update(sample) + encryptor.finalize()


def chacha_mask(number_key: bytes, sample: bytes) -> bytes:
    """RFC 9147 section 4.2.3: the first 4 bytes count blocks, the next 12 are the nonce."""
    encryptor = Cipher(algorithms.ChaCha20(number_key, sample), mode=None).encryptor()
    return encryptor.update(bytes(16))


@dataclass(frozen=True)
class Suite:
    """A cipher suite of TLS 1.3."""

    name: str
    key_length: int
    hash_name: str
    aead: Callable[[bytes], Any]
    mask: Callable[[bytes, bytes], bytes]


SUITES = {
    suite.name: suite
    for suite in (
        Suite("TLS_AES_128_GCM_SHA256", 16, "sha256", AESGCM, aes_mask),
        Suite("TLS_AES_256_GCM_SHA384", 32, "sha384", AESGCM, aes_mask),
        Suite("TLS_CHACHA20_POLY1305_SHA256", 32, "sha256", ChaCha20Poly1305, chacha_mask),
    )
}


@dataclass(frozen=True)
class Keys:
    """What one direction of one epoch is protected with."""

    suite: Suite
    epoch: int
    key: bytes
    number_key: bytes
    iv: bytes

    def nonce(self, number: int) -> bytes:
        """RFC 8446 section 5.3: the record number, as long as the IV, XORed with it."""
        return bytes(a ^ b for a, b in zip(number.to_bytes(IV_LENGTH, "big"), self.iv))

    def seal(self, chunks: bytes, number: int, zeros: int = 0) -> bytes:
        """The DTLS chunk that carries `chunks` as the record with this number."""
        return self.seal_inner(chunks + bytes([APPLICATION_DATA]) + bytes(zeros), number)

    def seal_inner(self, inner: bytes, number: int) -> bytes:
        """Seals a whole DTLSInnerPlaintext."""
        # 001, no connection ID, 16 bits of record number, no length, two bits of epoch.
        header = struct.pack("!BH", 0b0010_1000 | self.epoch & 3, number & 0xFFFF)
        sealed = self.suite.aead(self.key).encrypt(self.nonce(number), inner, header)
        return chunk(self.hide_number(header, sealed) + sealed)

    def hide_number(self, header: bytes, sealed: bytes) -> bytes:
        """Encrypts a header's record number, or decrypts it: the same procedure."""
        mask = self.suite.mask(self.number_key, sealed[:16])
        return bytes([header[0], header[1] ^ mask[0], header[2] ^ mask[1]])

    def open(self, chunk: bytes, expected: int) -> tuple[int, bytes]:
        """Record number and chunks of a DTLS chunk; `expected` is one above the highest number."""
        header, sealed = self.record(chunk)
        if len(sealed) < 16:
            raise Refused("RFC 9147 section 4.2.3: a ciphertext has at least 16 bytes")
        header = self.hide_number(header, sealed)
        number = nearest(int.from_bytes(header[1:], "big"), expected)
        try:
            inner = self.suite.aead(self.key).decrypt(self.nonce(number), sealed, header)
        except InvalidTag:
            raise Refused("the tag does not fit") from None
        content = inner.rstrip(b"\0")
        if not content:
            raise Refused("RFC 8446 section 5.4: nothing but zeros")
        if content[-1] != APPLICATION_DATA:
            raise Refused("the type of the content is not application_data")
        return number, content[:-1]

    def record(self, chunk: bytes) -> tuple[bytes, bytes]:
        """The unified header and the encrypted record in a DTLS chunk of the only form there is."""
        if len(chunk) < 8 or chunk[0] != DTLS_CHUNK:
            raise Refused("not a DTLS chunk")
        if chunk[1] & RESTART:
            raise Refused("for the keys of a restart")
        length = int.from_bytes(chunk[2:4], "big")
        if not 8 <= length <= len(chunk) or len(chunk) - length > 3:
            raise Refused("the chunk's length does not fit")
        header, sealed = chunk[5:8], chunk[8:length]
        if header[0] & 0b1111_1100 != 0b0010_1000:
            raise Refused("another form of header than the draft's")
        if header[0] & 3 != self.epoch & 3:
            raise Refused("for another epoch")
        return header, sealed


def chunk(payload: bytes, flags: int = 0, pre_padding: int = 0) -> bytes:
    """A DTLS chunk around a DTLSCiphertext."""
    length = 4 + 1 + len(payload)
    head = struct.pack("!BBHB", DTLS_CHUNK, flags, length, pre_padding)
    return head + payload + bytes(-length % 4)


def nearest(low_bits: int, expected: int) -> int:
    """RFC 9147 section 4.2.2: the number closest to the one expected next."""
    around = expected & ~0xFFFF
    candidates = (around + low_bits + turn * 0x10000 for turn in (-1, 0, 1))
    return min((n for n in candidates if n >= 0), key=lambda n: abs(n - expected))


def expand_label(secret: bytes, label: str, context: bytes, length: int, hash_name: str) -> bytes:
    """HKDF-Expand-Label of RFC 8446 section 7.1."""
    name = b"tls13 " + label.encode()
    info = struct.pack("!HB", length, len(name)) + name + bytes([len(context)]) + context
    output, block, counter = b"", b"", 1
    while len(output) < length:
        block = hmac.digest(secret, block + info + bytes([counter]), hash_name)
        output, counter = output + block, counter + 1
    return output[:length]


def export(secret: bytes, label: str, context: bytes, length: int, hash_name: str) -> bytes:
    """TLS-Exporter of RFC 8446 section 7.5, from the exporter_master_secret."""
    empty = hashlib.new(hash_name, b"").digest()
    derived = expand_label(secret, label, empty, len(empty), hash_name)
    hashed = hashlib.new(hash_name, context).digest()
    return expand_label(derived, "exporter", hashed, length, hash_name)


def exports(suite: Suite, secret: bytes, initiator: bytes, responder: bytes) -> dict[str, str]:
    """All material of the handshake draft's section 5, by direction, role and type."""
    lengths = {"key": suite.key_length, "number_key": suite.key_length, "iv": IV_LENGTH}
    return {
        f"{direction} {role} {kind}": export(
            secret,
            EXPORTER_LABEL,
            bytes([d, r, k]) + initiator + responder,
            lengths[kind],
            suite.hash_name,
        ).hex()
        for d, direction in enumerate(("client", "server"))
        for r, role in enumerate(("primary", "restart"))
        for k, kind in enumerate(("key", "number_key", "iv"))
    }


def parameter(tie_breaker: int, roles: int, methods: list[int]) -> bytes:
    """A DTLS Key Management parameter, without its padding."""
    length = 9 + len(methods)
    head = struct.pack("!HHIB", KEY_MANAGEMENT_PARAMETER, length, tie_breaker, roles)
    return head + bytes(methods)


# What the tests in Rust are held to.


def drawn(name: str, length: int) -> bytes:
    """Bytes that look random and are the same in each run."""
    return hashlib.shake_128(name.encode()).digest(length)


def keys_for(suite: Suite, epoch: int) -> Keys:
    name = f"{suite.name} {epoch}"
    return Keys(
        suite,
        epoch,
        drawn(name + " key", suite.key_length),
        drawn(name + " number key", suite.key_length),
        drawn(name + " iv", IV_LENGTH),
    )


def data(tsn: int, payload: bytes) -> bytes:
    """An SCTP DATA chunk with one whole message."""
    head = struct.pack("!BBHIHHI", 0, 3, 16 + len(payload), tsn, 1, 0, 0)
    return head + payload + bytes(-len(payload) % 4)


COOKIE_ACK = bytes([11, 0, 0, 4])
SACK = struct.pack("!BBHIIHH", 3, 0, 16, 0x01020304, 131072, 0, 0)
CONTENTS = {
    "nothing": b"",
    "the shortest chunk": COOKIE_ACK,
    "SACK and DATA": SACK + data(7, b"hello"),
    "a full packet": data(8, drawn("payload", 1340)),
}
NUMBERS = (0, 1, 255, 256, 0x7FFF, 0xFFFF, 0x10000, 0xFFFFFFFF, 1 << 32, (1 << 48) - 1)


def described(keys: Keys, name: str, number: int, sealed: bytes) -> dict[str, Any]:
    return {
        "name": name,
        "suite": keys.suite.name,
        "epoch": keys.epoch,
        "key": keys.key.hex(),
        "number_key": keys.number_key.hex(),
        "iv": keys.iv.hex(),
        "number": number,
        "sealed": sealed.hex(),
    }


def sealed_records() -> list[dict[str, Any]]:
    """Each suite, epoch and content; each number once per suite."""
    records = []
    for suite in SUITES.values():
        cases = [(3 + n % 5, number, "SACK and DATA") for n, number in enumerate(NUMBERS)]
        cases += [(3, 2, name) for name in CONTENTS]
        for epoch, number, name in cases:
            keys, chunks = keys_for(suite, epoch), CONTENTS[name]
            record = described(keys, name, number, keys.seal(chunks, number))
            records.append(record | {"chunks": chunks.hex()})
    return records


def other_forms() -> list[dict[str, Any]]:
    """Chunks that ours does not write, and must open."""
    forms = []
    for suite in SUITES.values():
        keys = keys_for(suite, 3)
        plain = keys.seal(COOKIE_ACK, 9)
        for name, sealed in (
            ("padded inside by one byte", keys.seal(COOKIE_ACK, 9, zeros=1)),
            ("padded inside by 300 bytes", keys.seal(COOKIE_ACK, 9, zeros=300)),
            ("reserved flags", bytes([plain[0], 0xFE]) + plain[2:]),
            ("pre-padding other than zero", plain[:4] + b"\xff" + plain[5:]),
        ):
            forms.append(described(keys, name, 9, sealed) | {"chunks": COOKIE_ACK.hex()})
    return forms


def refused_forms() -> list[dict[str, Any]]:
    """Chunks that must be discarded."""
    forms = []
    for suite in SUITES.values():
        keys = keys_for(suite, 3)
        plain = keys.seal(SACK, 9)
        length = int.from_bytes(plain[2:4], "big")

        def headed(first: int) -> bytes:
            return plain[:5] + bytes([first]) + plain[6:]

        def cut(payload: int) -> bytes:
            return chunk(plain[5 : 5 + payload])

        for name, sealed in (
            ("a connection ID", headed(0b0011_1011)),
            ("8 bits of record number", headed(0b0010_0011)),
            ("a length", headed(0b0010_1111)),
            ("other fixed bits", headed(0b1010_1011)),
            ("another epoch", headed(0b0010_1000)),
            ("for the keys of a restart", bytes([plain[0], RESTART]) + plain[2:]),
            ("nothing inside", keys.seal_inner(b"", 9)),
            ("zeros inside", keys.seal_inner(bytes(20), 9)),
            ("an alert", keys.seal_inner(b"\x02\x28\x15", 9)),
            ("a handshake message", keys.seal_inner(SACK + b"\x16", 9)),
            ("the tag changed", plain[: length - 1] + bytes([plain[length - 1] ^ 1])),
            ("the content changed", plain[:8] + bytes([plain[8] ^ 1]) + plain[9:]),
            ("the record number changed", plain[:7] + bytes([plain[7] ^ 1]) + plain[8:]),
            ("the last byte missing", cut(length - 6)),
            ("15 bytes of ciphertext", cut(3 + 15)),
            ("no ciphertext", cut(3)),
            ("half a header", cut(2)),
            ("no record", cut(0)),
        ):
            expect_refusal(keys, sealed)
            forms.append(described(keys, name, 9, sealed))
    return forms


def expect_refusal(keys: Keys, sealed: bytes) -> None:
    try:
        keys.open(sealed, 9)
    except Refused:
        return
    raise AssertionError("opened what must be refused")


def derivations() -> list[dict[str, Any]]:
    """What the handshake draft derives of an exporter secret and both parameters."""
    initiator = parameter(0x01020304, 0b011, [TLS_FOR_DTLS_IN_SCTP])
    responder = parameter(0xA0B0C0D0, 0b010, [193, TLS_FOR_DTLS_IN_SCTP, 0])
    found = []
    for suite in SUITES.values():
        secret = drawn(suite.name + " exporter", hashlib.new(suite.hash_name).digest_size)
        found.append(
            {
                "suite": suite.name,
                "exporter_secret": secret.hex(),
                "initiator_parameter": initiator.hex(),
                "responder_parameter": responder.hex(),
                "exports": exports(suite, secret, initiator, responder),
            }
        )
    return found


def write(path: str) -> None:
    vectors = {
        "sealed": sealed_records(),
        "other_forms": other_forms(),
        "refused": refused_forms(),
        "derivations": derivations(),
    }
    for record in vectors["sealed"] + vectors["other_forms"]:
        check_record(record)
    with open(path, "w", encoding="ascii") as file:
        json.dump(vectors, file, indent=1)
        file.write("\n")


# What Rust has written: packets of whole associations, and the exporter secret of each.


def check_record(record: dict[str, Any]) -> None:
    keys = Keys(
        SUITES[record["suite"]],
        record["epoch"],
        bytes.fromhex(record["key"]),
        bytes.fromhex(record["number_key"]),
        bytes.fromhex(record["iv"]),
    )
    number, chunks = keys.open(bytes.fromhex(record["sealed"]), record["number"])
    assert number == record["number"], record["name"]
    assert chunks.hex() == record["chunks"], record["name"]


def chunks_of(bytes_: bytes) -> list[bytes]:
    """Chunks, each with its padding."""
    chunks, at = [], 0
    while at < len(bytes_):
        length = int.from_bytes(bytes_[at + 2 : at + 4], "big")
        end = at + length + -length % 4
        chunks.append(bytes_[at:end])
        at = end
    return chunks


INIT, INIT_ACK, DATA, I_DATA = 1, 2, 0, 64
COMMON_HEADER = 12


def offer_in(chunk_: bytes) -> bytes:
    """The DTLS Key Management parameter of an INIT or INIT ACK, without its padding."""
    for found in chunks_of(chunk_[20 : int.from_bytes(chunk_[2:4], "big")]):
        kind, length = struct.unpack("!HH", found[:4])
        if kind == KEY_MANAGEMENT_PARAMETER:
            return found[:length]
    raise AssertionError("no DTLS Key Management parameter")


def read_capture(capture: dict[str, Any]) -> dict[str, list[bytes]]:
    """What each end said under seal."""
    packets = [(p["from"], bytes.fromhex(p["bytes"])[COMMON_HEADER:]) for p in capture["packets"]]
    offers = {end: offer_in(body) for end, body in packets if body[0] in (INIT, INIT_ACK)}
    # "The endpoint with the larger value SHALL be the server".
    client, server = sorted(offers, key=lambda end: offers[end][4:8])
    suite = SUITES[capture["suite"]]
    secret = bytes.fromhex(capture["exporter_secret"])
    material = exports(suite, secret, offers[client], offers[server])
    said: dict[str, list[bytes]] = {client: [], server: []}
    for end, role in ((client, "client"), (server, "server")):
        kinds = ("key", "number_key", "iv")
        three = (bytes.fromhex(material[f"{role} primary {kind}"]) for kind in kinds)
        keys, expected = Keys(suite, 3, *three), 0
        for _, body in (packet for packet in packets if packet[0] == end):
            if body[0] != DTLS_CHUNK:
                assert expected == 0, "in the open after something was sealed"
                continue
            number, opened = keys.open(body, expected)
            assert number == expected, "each number once, in order"
            expected += 1
            said[end] += filter(None, map(user_message, chunks_of(opened)))
    return said


def user_message(chunk_: bytes) -> bytes | None:
    """The payload of a chunk with user data, unless it is about keys."""
    length = int.from_bytes(chunk_[2:4], "big")
    if chunk_[0] == DATA and chunk_[12:16] != (4242).to_bytes(4, "big"):
        return chunk_[16:length]
    if chunk_[0] == I_DATA and chunk_[16:20] != (4242).to_bytes(4, "big"):
        return chunk_[20:length]
    return None


def check(path: str) -> None:
    with open(path, encoding="ascii") as file:
        captures = json.load(file)["captures"]
    for capture in captures:
        said = read_capture(capture)
        assert said == {end: [end.encode()] * 2 for end in ("caller", "listener")}, said
    print(f"{len(captures)} associations read")


# What the program has recorded.


LINK_RAW = 101
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
UDP = 17


def blocks_of(pcapng: bytes) -> list[tuple[int, bytes]]:
    """Blocks of a capture whose numbers are in little-endian order: type and body."""
    assert pcapng[8:12] == bytes.fromhex("4d3c2b1a"), "not in little-endian order"
    blocks, at = [], 0
    while at < len(pcapng):
        kind, length = struct.unpack_from("<II", pcapng, at)
        blocks.append((kind, pcapng[at + 8 : at + length - 4]))
        at += length
    return blocks


def datagrams_of(pcapng: bytes) -> list[tuple[str, bytes]]:
    """Who sent each UDP datagram, and its payload."""
    found = []
    for kind, body in blocks_of(pcapng):
        if kind == INTERFACE:
            assert struct.unpack_from("<H", body)[0] == LINK_RAW, "not IP packets"
        if kind == PACKET:
            length = struct.unpack_from("<I", body, 12)[0]
            found.append(datagram_in(body[20 : 20 + length]))
    return found


def datagram_in(packet: bytes) -> tuple[str, bytes]:
    """The same of one IP packet."""
    if packet[0] >> 4 == 4:
        assert packet[9] == UDP
        source, udp = packet[12:16], packet[(packet[0] & 15) * 4 :]
    else:
        assert packet[6] == UDP
        source, udp = packet[8:24], packet[40:]
    port, _, length = struct.unpack_from("!HHH", udp)
    return f"{source.hex()}:{port}", udp[8:length]


def exporter_secret(log: str) -> bytes:
    """The last secret of its kind in the form of NSS."""
    found = [line.split() for line in log.splitlines() if line.startswith("EXPORTER_SECRET ")]
    assert found, "no EXPORTER_SECRET"
    return bytes.fromhex(found[-1][2])


def opened_by(suite: Suite, secret: bytes, packets: list[tuple[str, bytes]]) -> list[bytes] | None:
    """The chunks of each sealed packet; nothing if another suite sealed them."""
    offers = {}
    for end, body in packets:
        if body and body[0] in (INIT, INIT_ACK):
            offers.setdefault(end, offer_in(body))
    client, server = sorted(offers, key=lambda end: offers[end][4:8])
    material = exports(suite, secret, offers[client], offers[server])
    opened = []
    for end, role in ((client, "client"), (server, "server")):
        kinds = ("key", "number_key", "iv")
        three = (bytes.fromhex(material[f"{role} primary {kind}"]) for kind in kinds)
        keys, expected = Keys(suite, 3, *three), 0
        for _, body in (packet for packet in packets if packet[0] == end):
            if body[0] != DTLS_CHUNK:
                continue
            try:
                number, chunks = keys.open(body, expected)
            except Refused:
                return None
            expected = max(expected, number + 1)
            opened.append(chunks)
    return opened


def read(capture: str, secrets: str, out: str) -> None:
    with open(capture, "rb") as file:
        datagrams = datagrams_of(file.read())
    with open(secrets, encoding="ascii") as file:
        secret = exporter_secret(file.read())
    packets = [(end, payload[COMMON_HEADER:]) for end, payload in datagrams]
    fitting = [s for s in SUITES.values() if hashlib.new(s.hash_name).digest_size == len(secret)]
    tries = (opened_by(suite, secret, packets) for suite in fitting)
    opened = next(found for found in tries if found is not None)
    said = {}
    for chunks in opened:
        for found in chunks_of(chunks):
            message = user_message(found)
            if message is not None:
                said[found[4:8]] = message
    with open(out, "wb") as file:
        file.write(b"".join(said[tsn] for tsn in sorted(said)))
    print(f"{len(opened)} sealed packets opened")


if __name__ == "__main__":
    commands = {"write": (write, 1), "check": (check, 1), "read": (read, 3)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    command(*sys.argv[2:])
