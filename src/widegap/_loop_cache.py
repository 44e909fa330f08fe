"""The files in which machine code is kept between runs: numba's, but each is checked before it is used.

numba reads what it finds. From a truncated file unpickling raises anything, code with a flipped bit is run, and two
processes that write at once can leave an index that names the code of another signature. Here every signature and
processor has its own file, without an index. It begins with a checksum of the code and of all that decides whether it
fits: a file that is not as it was written, or was written for something else, counts as missing, and its loop is
compiled again.

numba notices a change in the file that a loop is in, but not in those of the loops that it calls. So the checksum has
the times and sizes of all files whose loops become part of others (``rows/loops``), and of ``_jit.py``. Nor does it
tell code that checks its indices (``NUMBA_BOUNDSCHECK=1``) from code that does not, so the name of a file does.
"""

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.serialize import dumps

_PACKAGE = Path(__file__).parent
_DIGEST_BYTES = hashlib.sha256().digest_size


class _CheckedFiles(IndexDataCacheFile):
    """The files of one loop, by signature and processor."""

    def save(self, key: Any, data: Any) -> None:
        code = dumps(data)
        with self._open_for_write(self._path(key)) as file:
            file.write(self._digest(key, code) + code)

    def load(self, key: Any) -> Any:
        try:
            content = Path(self._path(key)).read_bytes()
        except OSError:
            return None
        digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return pickle.loads(code) if digest == self._digest(key, code) else None

    def _path(self, key: Any) -> str:
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return str(self._data_path(self._index_name.removesuffix("nbi") + f"{name}.nbc"))

    def _digest(self, key: Any, code: bytes) -> bytes:
        return hashlib.sha256(repr((self._version, self._source_stamp, key)).encode() + code).digest()


class LoopCache(FunctionCache):
    """The cache of one loop; RuntimeError where there is no place for it."""

    def __init__(self, function: Any):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), _stamps_of_parts()
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return super()._index_key(sig, codegen), bool(vars(config)["BOUNDSCHECK"])


def _stamps_of_parts() -> list[tuple[str, float, int]]:
    """Name, time and size of the files that decide about the machine code of loops in other files."""
    files = [*sorted((_PACKAGE / "rows" / "loops").glob("*.py")), _PACKAGE / "_jit.py"]
    return [(file.name, file.stat().st_mtime, file.stat().st_size) for file in files]
