"""Root reads everything, which hides what happens when something can't be read. Linux lets a thread give that up."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522  # linux/capability.h, as the next two
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """File modes count for this thread, and for those it starts, as they do for anybody; root gets his right back."""
    if os.geteuid() != 0:
        yield
        return
    library = ctypes.CDLL(None, use_errno=True)
    header, data = _Header(_VERSION_3, 0), (_Data * 2)()
    _done(library.capget(ctypes.byref(header), data))
    before = data[0].effective
    data[0].effective = before & ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    _done(library.capset(ctypes.byref(header), data))
    try:
        yield
    finally:
        data[0].effective = before
        _done(library.capset(ctypes.byref(header), data))


def _done(status: int) -> None:
    if status:
        raise OSError(ctypes.get_errno(), "this thread's capabilities can't be changed")
