"""An initial RAM file system (cpio, "newc") of files of this machine, at the paths that they have here.

Programs come with the libraries that they need, symbolic links on the way with what they point to. The format
stands in the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
"""

import os
import re
import stat
import subprocess

LIBRARY = re.compile(rb"(?:=> |^\t)(/\S+) \(0x", re.MULTILINE)
FOLDER_MODE, LINK_MODE = stat.S_IFDIR | 0o755, stat.S_IFLNK | 0o777


def _field_block(mode, name, size, device=(0, 0)):
    """A header with the name: thirteen fields of eight hexadecimal digits."""
    octets = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, size, 0, 0, *device, len(octets), 0)
    return _padded(b"070701" + b"".join(b"%08X" % field for field in fields) + octets)


def _padded(octets):
    return octets + bytes(-len(octets) % 4)


class Archive:
    """An archive that is being written to a file."""

    def __init__(self, file):
        self._file = file
        self._there = set()
        self._searched = set()
        self._write("/", FOLDER_MODE)

    def _write(self, path, mode, data=b"", device=(0, 0)):
        self._there.add(path)
        self._file.write(_field_block(mode, path[1:] or ".", len(data), device))
        self._file.write(_padded(data))

    def close(self):
        """Write the end."""
        self._file.write(_field_block(0, "TRAILER!!!", 0))

    def folder(self, path):
        """A folder and those above it; where this machine has a symbolic link, that and where it leads."""
        if path in self._there:
            return
        self.folder(os.path.dirname(path))
        if os.path.islink(path):
            self._link(path)
        else:
            self._write(path, FOLDER_MODE)

    def _link(self, path):
        target = os.readlink(path)
        self._write(path, LINK_MODE, target.encode())
        target = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if os.path.isdir(target):
            self.folder(target)
        else:
            self.file(target)

    def text(self, path, text, mode=0o644):
        """A file of its own making."""
        self.folder(os.path.dirname(path))
        self._write(path, stat.S_IFREG | mode, text.encode())

    def console(self):
        """What the first program prints to."""
        self.folder("/dev")
        self._write("/dev/console", stat.S_IFCHR | 0o600, device=(5, 1))

    def file(self, path, at=None):
        """One file, or a symbolic link with what it leads to; another path than it has here may be given."""
        name = at or path
        if name in self._there:
            return
        self.folder(os.path.dirname(name))
        if os.path.islink(path) and not at:
            self._link(path)
            return
        with open(path, "rb") as file:
            self._write(name, stat.S_IFREG | stat.S_IMODE(os.stat(path).st_mode), file.read())

    def tree(self, path, without=()):
        """A folder with all that is in it but what bears the names `without`."""
        self.folder(path)
        for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
            if entry.name in without:
                continue
            if entry.is_dir(follow_symlinks=False):
                self.tree(entry.path, without)
            elif entry.is_file():
                self.file(entry.path)

    def program(self, *paths):
        """Programs or libraries with the libraries that they need."""
        new = [path for path in paths if path not in self._searched]
        self._searched.update(new)
        if not new:
            return
        said = subprocess.run(["ldd", *new], capture_output=True, check=False, timeout=60).stdout
        for path in (*new, *(library.decode() for library in sorted(set(LIBRARY.findall(said))))):
            self.file(path)
