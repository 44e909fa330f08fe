"""The result of a file that is not read whole: rows are written as they come, and a sample describes them."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from widegap import describe, persistence
from widegap._atomic import replacing
from widegap._types import Doubles, Floats, Ints
from widegap._wording import row_number
from widegap.results._certainty import agreement_of, probability_of
from widegap.results._input_rows import WRITTEN_COLUMNS, PlainRows, matrix_columns
from widegap.results._large_files import LargeFile, stored_columns
from widegap.results._result import SURE_DIGITS, Result
from widegap.results._scored_rows import labels_and_scores
from widegap.results._spreadsheet_files import sheet_writer
from widegap.rows._collections import count_labels
from widegap.rows._matrices import scale_columns
from widegap.rows._state_files import CHUNK_ROWS

if TYPE_CHECKING:
    import pandas as pd

SAMPLED_ROWS = 5000  # that profiles, margins and map are made of: means to about 1.4 % of a deviation, and a full map


class LargeResult:
    """What a user sees of a model on a large file; like :class:`Result`, but for its table, which fits no frame.

    Parameters
    ----------
    model : estimator
        Fitted.
    file : LargeFile
    labels : array or labels on disk, default=None
        Those of the fit; None predicts them.
    title : str
    """

    def __init__(self, model: Any, file: LargeFile, *, labels: Any = None, title: str = "Clusters"):
        self.model, self.file, self.labels, self.title = model, file, labels, title

    @cached_property
    def sizes(self) -> Ints:
        """Rows of every cluster; known without another pass where the rows were written."""
        if self.labels is not None:
            return count_labels(self.model._to_positions(self.labels), self.model.n_clusters_)
        sizes = np.zeros(self.model.n_clusters_, np.int64)
        for _, values in self.file.pieces():
            sizes += self._counted(self.model.predict(self._scaled(values)))
        return sizes

    def write(self, path: Path) -> None:
        """Write every row with its cluster, how sure it is, and margin; "-" is CSV on standard output."""
        sizes = np.zeros(self.model.n_clusters_, np.int64)
        with _writer(path) as write:
            for frame, labels in self._frames():
                sizes += self._counted(labels)
                write(frame)
        self.sizes = sizes

    def summary(self, max_points: int = SAMPLED_ROWS) -> dict[str, Any]:
        """Sizes by all rows, everything else by rows spread over the file, of which ``max_points`` are on the map."""
        file, n = self.file, self.file.n_rows
        some = np.unique(np.linspace(0, n - 1, SAMPLED_ROWS).astype(np.intp))
        X = file.rows().take(some)
        note = f"Sizes count all {n:,} rows; profiles, margins, examples and map are of {len(some):,} of them."
        sample = PlainRows(
            X,
            X if file.factors is None else LargeFile(file.path, file.source, file.names).rows().take(some),
            file.names or matrix_columns(X.shape[1]),
            kept=some,
            notes=[*file.notes, note],
        )
        labels = self.model.predict(X) if self.labels is None else np.array(self.labels[some])
        found = Result(self.model, sample, labels=labels, title=self.title).summary(max_points)
        sure = self._agreements()
        for cluster in found["clusters"]:
            place = int(self.model._to_positions(np.array([cluster["label"]]))[0])
            size = int(self.sizes[place])
            cluster.update(size=size, share=size / n)
            if sure is not None:
                cluster["agreement"] = float(sure[place])
        found.update(n_rows=n, fitted=self.labels is not None)
        return found

    def save(self, path: Path, *, rows: bool = True) -> None:
        """Write the model file, with the title and how columns are read."""
        persistence.save(self.model, path, rows=rows, extra={"large": stored_columns(self.file), "title": self.title})

    def _counted(self, labels: Ints) -> Ints:
        """Rows of every cluster, in the order of the scores."""
        return np.bincount(self.model._to_positions(labels), minlength=self.model.n_clusters_)

    def _scaled(self, values: Floats) -> Any:
        return scale_columns(values, self.file.factors)

    def _frames(self) -> Iterator[tuple["pd.DataFrame", Ints]]:
        """The rows some at a time, with cluster, how sure it is where that is known, and margin; and the clusters."""
        import pandas as pd

        from widegap.tables._writing import with_results

        for start, values in self.file.pieces():
            X = self._scaled(values)
            if self.labels is None:
                found, scores = labels_and_scores(self.model, X)
            else:
                found, scores = np.array(self.labels[start : start + len(values)]), describe.scores(self.model, X)
            if self.file.names is not None:
                frame = pd.DataFrame(values, columns=self.file.names)
            else:
                frame = pd.DataFrame({"row": row_number(np.arange(start, start + len(values)))})
                if values.shape[1] <= WRITTEN_COLUMNS:
                    columns = pd.DataFrame(values, columns=matrix_columns(values.shape[1]))
                    frame = pd.concat([frame, columns], axis=1)
            shares = self._sure(start, X, found, scores)
            sure = {} if shares is None else {"sure": np.round(shares, SURE_DIGITS)}
            yield with_results(frame, {"cluster": found, **sure, "margin": describe.leads(scores, found)}), found

    def _sure(self, start: int, X: Any, found: Ints, scores: Floats | None) -> Floats | None:
        """How sure the clusters ``found`` of some rows are; None if the model does not tell."""
        if self.labels is None:
            return probability_of(self.model, X, found, scores)
        agreement = agreement_of(self.model)
        return None if agreement is None else agreement[start : start + len(found)]

    def _agreements(self) -> Doubles | None:
        """How sure each cluster is on average, where the search has several members; None elsewhere."""
        agreement = None if self.labels is None else agreement_of(self.model)
        if agreement is None:
            return None
        sums = np.zeros(len(self.sizes))
        for start in range(0, len(self.labels), CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            sums += np.bincount(self.model._to_positions(np.array(self.labels[part])), agreement[part], len(sums))
        return sums / np.maximum(self.sizes, 1)


@contextmanager
def _writer(path: Path) -> Iterator[Callable[[Any], None]]:
    """A function that writes one part of a table after the other; the file appears when all are written."""
    if str(path) == "-":
        yield _text_writer(sys.stdout, "")
        return
    ending = path.suffix.lower()
    with replacing(path) as temporary:
        if ending == ".parquet":
            with _parquet_writer(temporary) as write:
                yield write
            return
        if ending == ".xlsx":
            with sheet_writer(temporary, path) as write:
                yield write
            return
        with temporary.open("w", encoding="utf-8", newline="") as file:
            yield _text_writer(file, ending)


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Callable[[Any], None]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writers: list[Any] = []

    def write(frame: Any) -> None:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if not writers:
            writers.append(pq.ParquetWriter(path, table.schema))
        writers[0].write_table(table)

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()


def _text_writer(file: Any, ending: str) -> Callable[[Any], None]:
    """Writes JSON lines or delimited text, margins with a few digits; names that look like formulas are quoted."""
    from widegap.tables._writing import neutral

    first = True

    def write(frame: Any) -> None:
        nonlocal first
        margin = frame.columns[-1]
        if ending in (".json", ".jsonl"):
            for row in zip(*(frame[name].tolist() for name in frame.columns), strict=True):
                file.write(json.dumps(dict(zip(frame.columns, row, strict=True)), ensure_ascii=False) + "\n")
            return
        frame[margin] = [f"{value:.6g}" for value in frame[margin]]
        names = [neutral(name) for name in frame.columns]
        sign = "\t" if ending == ".tsv" else ","
        frame.to_csv(file, sep=sign, index=False, header=names if first else False, lineterminator="\n")
        first = False

    return write
