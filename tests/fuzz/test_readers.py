"""Every reader on its own sound files and on the inputs that fuzzing has kept: read, or refused with a reason, soon."""

import zipfile

import pytest
import readers

from _counts import tried
from _limits import within

SECONDS = 5  # of the processor, for one input
MOST_BYTES = 300_000  # of the stored inputs: they are cloned with the source


@pytest.mark.filterwarnings("ignore", "error::RuntimeWarning")
@pytest.mark.parametrize("name", readers.READERS)
def test_stored_inputs(name):
    seeds, kept = list(readers.READERS[name].seeds()), readers.stored(name)
    with within(SECONDS):
        assert any([readers.try_out(name, content) for content in seeds])
    for content in kept:
        with within(SECONDS):
            readers.try_out(name, content)
    tried("inputs of readers", len(seeds) + len(kept))


def test_a_reader_that_raises_or_takes_long_is_noticed(monkeypatch):
    monkeypatch.setitem(readers.READERS, "broken", readers.Reader(lambda content: {}[content], list))
    with pytest.raises(KeyError):
        readers.try_out("broken", b"")
    monkeypatch.setitem(readers.READERS, "slow", readers.Reader(lambda content: [0 for _ in iter(int, 1)], list))
    with pytest.raises(AssertionError, match=r"took more than 0\.05 s"), within(0.05):
        readers.try_out("slow", b"")


def test_the_stored_inputs_are_few_and_have_readers():
    with zipfile.ZipFile(readers.CORPUS) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
    assert names <= set(readers.READERS) and readers.CORPUS.stat().st_size < MOST_BYTES
