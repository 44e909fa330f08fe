"""Clusters of a file that is not read whole: rows written as they come, and a summary by a sample."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from widegap.cli._large_files import SAMPLE, LargeFile
from widegap.cli._places import replacing
from widegap.rows._state_files import CHUNK_ROWS

WRITTEN_COLUMNS = 100  # of a matrix; of wider ones only the numbers of the rows are written


def write_rows(path: Path, file: LargeFile, estimator: Any, labels: Any = None) -> Any:
    """Write every row with cluster and margin, and return the sizes of the clusters; "-" is CSV on standard output.

    ``labels`` are those of the fit; None predicts them.
    """
    import numpy as np

    sizes = np.zeros(estimator.n_clusters_, np.int64)
    with _writer(path) as write:
        for frame in _frames(file, estimator, labels):
            sizes += np.bincount(frame.iloc[:, -2], minlength=len(sizes))
            write(frame)
    return sizes


def count_rows(file: LargeFile, estimator: Any) -> Any:
    """Sizes of the clusters by ``predict``, where nothing is to be written."""
    import numpy as np

    sizes = np.zeros(estimator.n_clusters_, np.int64)
    for _, values in file.pieces():
        sizes += np.bincount(estimator.predict(_scaled(file, values)), minlength=len(sizes))
    return sizes


def _scaled(file: LargeFile, values: Any) -> Any:
    from widegap.rows._matrices import scale_columns

    return scale_columns(values, file.factors)


def _frames(file: LargeFile, estimator: Any, labels: Any) -> Iterator[Any]:
    """The rows some at a time: their values, cluster and margin."""
    import numpy as np
    import pandas as pd

    from widegap import describe
    from widegap._wording import row_number
    from widegap.tables._writing import with_results

    for start, values in file.pieces():
        scores = describe.scores(estimator, _scaled(file, values))
        found = scores.argmax(axis=1).astype(np.int32) if labels is None else labels[start : start + len(values)]
        if file.names is not None:
            frame = pd.DataFrame(values, columns=file.names)
        else:
            frame = pd.DataFrame({"row": row_number(np.arange(start, start + len(values)))})
            if values.shape[1] <= WRITTEN_COLUMNS:
                columns = pd.DataFrame(values, columns=_column_names(values.shape[1]))
                frame = pd.concat([frame, columns], axis=1)
        yield with_results(frame, {"cluster": np.array(found), "margin": describe.leads(scores, found)})


def _column_names(n: int) -> list[str]:
    return [f"column {j}" for j in range(n)]


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


def _agreements(estimator: Any, labels: Any, sizes: Any) -> Any:
    """How sure each cluster is, on average, where several members of the search tell; None elsewhere."""
    import numpy as np

    if not hasattr(estimator, "agreement_") or len(estimator.history_) < 2:
        return None
    sums = np.zeros(len(sizes))
    for start in range(0, len(labels), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        sums += np.bincount(labels[part], estimator.agreement_[part], len(sizes))
    return sums / np.maximum(sizes, 1)


def summarize_file(file: LargeFile, estimator: Any, sizes: Any, labels: Any, title: str, notes: list[str]) -> Any:
    """The summary of a report: sizes by all rows, everything else by rows spread over the file."""
    import numpy as np

    from widegap.report import summarize
    from widegap.results._summary import number_rows

    some = np.unique(np.linspace(0, file.n_rows - 1, SAMPLE).astype(np.intp))
    rows = file.rows().take(some)
    values = rows if file.factors is None else LargeFile(file.path, file.source, file.names).rows().take(some)
    found = estimator.predict(rows) if labels is None else np.array(labels[some])
    said = f"Sizes count all {file.n_rows:,} rows; profiles, margins, examples and map are of {len(some):,} of them."
    summary = summarize(
        estimator,
        rows,
        labels=found,
        values=values,
        feature_names=file.names or _column_names(rows.shape[1]),
        title=title,
        notes=[*notes, said],
        max_points=SAMPLE,
    )
    sure = None if labels is None else _agreements(estimator, labels, sizes)
    for cluster in summary["clusters"]:
        size = int(sizes[cluster["label"]])
        cluster.update(size=size, share=size / file.n_rows)
        if sure is not None:
            cluster["agreement"] = float(sure[cluster["label"]])
    number_rows(summary, some)
    summary.update(n_rows=file.n_rows, fitted=labels is not None)
    return summary
