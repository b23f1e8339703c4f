"""A process in which the kernel refuses to exchange two names, as an old or a foreign one does."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

_RENAMEAT2 = {"x86_64": 316, "aarch64": 276}
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000 | errno.EINVAL
_FLAGS_OFFSET = 16 + 4 * 8  # the fifth argument in the kernel's `seccomp_data`


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def is_possible() -> bool:
    """Whether we know how to say it on this machine."""
    return platform.system() == "Linux" and platform.machine() in _RENAMEAT2


def forbid_exchange() -> None:
    """From now on `renameat2` with `RENAME_EXCHANGE` fails in this process, for good."""
    steps = (
        (_LOAD, 0, 0, 0),
        (_IF_EQUAL, 0, 3, _RENAMEAT2[platform.machine()]),
        (_LOAD, 0, 0, _FLAGS_OFFSET),
        (_IF_EQUAL, 0, 1, 2),
        (_RETURN, 0, 0, _FAIL),
        (_RETURN, 0, 0, _ALLOW),
    )
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    libc = ctypes.CDLL(None, use_errno=True)
    for args in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program)),
    ):
        if libc.prctl(*args):
            raise OSError(ctypes.get_errno(), "prctl")
