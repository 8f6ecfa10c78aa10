"""Packs the first files of a stock kernel: Python as this machine has it, what boot.py and peer.py
import, the two themselves, and the modules that they need.

    pack.py KERNEL ARCHIVE

KERNEL is an unpacked package of Debian's, ARCHIVE becomes a cpio archive that the kernel unpacks.
"""

import ast
import importlib
import lzma
import os
import stat
import sys
from collections.abc import Iterator

SCRIPTS = ["boot.py", "peer.py"]
MODULES = ["virtio_pci", "virtio_net", "dccp_ipv4"]

# Where the programs of Debian expect their files.
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "init": "boot.py"}
LOADER = "/usr/lib64/ld-linux-x86-64.so.2"


class Archive:
    """A cpio archive of the form newc, as Linux's early-userspace/buffer-format.rst has it."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.known: set[str] = set()

    def add(self, name: str, mode: int, data: bytes, changed: int = 0) -> None:
        folder = os.path.dirname(name)
        if folder and folder not in self.known:
            self.add(folder, stat.S_IFDIR | 0o755, b"")
        self.known.add(name)
        path = name.encode() + b"\0"
        number = len(self.known)
        fields = [number, mode, 0, 0, 1, changed, len(data), 0, 0, 0, 0, len(path), 0]
        self.bytes += b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self.fill()
        self.bytes += data
        self.fill()

    def fill(self) -> None:
        self.bytes += bytes(-len(self.bytes) % 4)

    def add_file(self, path: str) -> None:
        """This machine's file, at the same place."""
        name = path.lstrip("/")
        if name not in self.known:
            # Python compares times with those in its compiled files.
            status = os.stat(path)
            with open(path, "rb") as file:
                self.add(name, stat.S_IFREG | 0o755, file.read(), int(status.st_mtime))

    def add_link(self, name: str, target: str) -> None:
        self.add(name, stat.S_IFLNK | 0o777, target.encode())


def imported(script: str) -> Iterator[str]:
    """What a script imports by `import`."""
    with open(script, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def files_of_python() -> set[str]:
    """Those of the modules that this process has, and its program with its libraries."""
    modules = list(sys.modules.values())
    found = {getattr(module, "__file__", None) for module in modules}
    found |= {getattr(module, "__cached__", None) for module in modules}
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found |= {line.split()[-1] for line in maps}
    paths = {os.path.realpath(path) for path in found if path and path.startswith("/")}
    return {path for path in paths if os.path.isfile(path)}


def links_to(path: str) -> Iterator[str]:
    """The other names in its folder: a library's is not the one that its users ask for."""
    folder = os.path.dirname(path)
    if ".so" in path:
        for entry in os.scandir(folder):
            if entry.is_symlink() and os.path.realpath(entry.path) == path:
                yield entry.path


def kernel_modules(kernel: str) -> dict[str, str]:
    """Where each module is, by its name."""
    found = {}
    for folder, _, files in os.walk(os.path.join(kernel, "lib/modules")):
        for file in files:
            name, dot, kind = file.partition(".ko")
            if dot and kind in ("", ".xz"):
                found[name.replace("-", "_")] = os.path.join(folder, file)
    return found


def read_module(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


def in_order(wanted: list[str], places: dict[str, str]) -> dict[str, bytes]:
    """Modules, each behind those that it depends on."""
    ordered: dict[str, bytes] = {}
    for name in wanted:
        data = read_module(places[name])
        depends = data.partition(b"\0depends=")[2].partition(b"\0")[0].decode()
        ordered |= in_order(depends.split(",") if depends else [], places)
        ordered[name] = data
    return ordered


def main() -> None:
    kernel, target = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    archive = Archive()
    for name, place in LINKS.items():
        archive.add_link(name, place)
    for script in SCRIPTS:
        path = os.path.join(here, script)
        with open(path, "rb") as file:
            archive.add(script, stat.S_IFREG | 0o755, file.read())
        for name in imported(path):
            importlib.import_module(name)
    files = files_of_python()
    for path in sorted(files):
        archive.add_file(path)
        for link in links_to(path):
            archive.add_link(link.lstrip("/"), path)
    archive.add_link("usr/bin/python3", os.path.realpath(sys.executable))
    archive.add_link(LOADER.lstrip("/"), os.path.realpath(LOADER))
    for number, (name, data) in enumerate(in_order(MODULES, kernel_modules(kernel)).items()):
        archive.add(f"modules/{number:02}-{name}.ko", stat.S_IFREG | 0o644, data)
    archive.add("TRAILER!!!", 0, b"")
    with open(target, "wb") as file:
        file.write(archive.bytes)


main()
