"""Tables with text, categories, dates or missing numbers, and lists of texts: read by the program's own readers.

A frame of numbers without missing values is passed on as an array. Any other frame of pandas, polars or Arrow becomes an
Arrow file, and is read as the program reads such a file: ``city=Rome`` is a feature, sentences become words, dates become parts, and missing numbers
get an indicator. A list of texts becomes a file of text, whose features are words.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

#: The column that stands for the target while a frame is read; the targets themselves are passed as ``y``.
TARGET = "lazyglm_target"


def is_frame(X: Any) -> bool:
    """Whether this is a frame of pandas, polars or Arrow."""
    return (hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_arrow")) and hasattr(X, "columns")


def is_table(X: Any) -> bool:
    """Whether this is a frame with columns that are not numbers, or with missing numbers."""
    if not is_frame(X):
        return False
    kinds = [str(kind).lower() for kind in _types(X)]
    return any(not _is_number(kind) for kind in kinds) or bool(missing_columns(X))


def columns_of(X: Any) -> list[str]:
    """The names of the columns of a frame."""
    return [str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)]


def missing_columns(X: Any) -> list[str]:
    """The columns of a frame in which a value is missing: null or NaN."""
    kinds = [str(kind).lower() for kind in _types(X)]
    if any(kind.startswith("sparse") for kind in kinds):
        return []
    if hasattr(X, "isna"):
        missing = X.isna().to_numpy().any(axis=0).tolist()
    else:
        floats = [kind.startswith(("float", "double", "half")) for kind in kinds]
        columns = list(X.columns) if hasattr(X, "column_names") else X.get_columns()
        missing = [_lacks(column, number) for column, number in zip(columns, floats, strict=True)]
    return [name for name, some in zip(columns_of(X), missing, strict=True) if some]


def _lacks(column: Any, number: bool) -> bool:
    """Whether a column of polars or Arrow has a null, or a NaN."""
    nulls = column.null_count() if callable(column.null_count) else column.null_count
    return bool(nulls > 0 or (number and np.isnan(column.to_numpy()).any()))


def texts_of(X: Any) -> list[str] | None:
    """The texts if X is a list, an array or a Series of strings, one per row; else None."""
    if isinstance(X, (str, bytes)) or hasattr(X, "columns") or getattr(X, "ndim", 1) != 1:
        return None
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(X, name):
            X = getattr(X, name)()
            break
    if not isinstance(X, (list, tuple)) or len(X) == 0 or not isinstance(X[0], str):
        return None
    wrong = next((row for row, text in enumerate(X) if not isinstance(text, str)), None)
    if wrong is not None:
        raise ValueError(f"X is a list of texts, and its element {wrong} is {X[wrong]!r}: give a string for each row, '' for none")
    return list(X)


def _types(X: Any) -> list[Any]:
    if hasattr(X, "dtypes"):
        return list(X.dtypes)
    return [field.type for field in X.schema]  # an Arrow table


def _is_number(name: str) -> bool:
    return name.startswith(("int", "uint", "float", "double", "halffloat", "half_float", "bool", "sparse"))


@contextlib.contextmanager
def arrow_file(X: Any) -> Iterator[str]:
    """A temporary Arrow file of a frame, with a column for the target."""
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.feather as feather
    except ImportError:
        raise ImportError(
            "frames with text, categories, dates or missing numbers need pyarrow: pip install pyarrow, or encode the columns as numbers"
        ) from None
    try:
        table = pa.Table.from_pandas(X, preserve_index=False) if hasattr(X, "to_numpy") and hasattr(X, "index") else pa.table(X)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        text = ": ".join(str(part) for part in error.args)
        raise ValueError(f"X cannot be converted to Arrow ({text}): give each column values of one type") from None
    if TARGET in table.column_names:
        raise ValueError(f"a column is called {TARGET!r}, which is the name that stands for the target: rename it")
    plain = [pa.field(field.name, _plain(pa, field.type)) for field in table.schema]
    table = table.replace_schema_metadata(None).cast(pa.schema(plain))
    for place, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):  # a NaN is a missing number, in every frame library
            numbers = table.column(place).cast(pa.float64())
            table = table.set_column(place, field.name, pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers))
    table = table.append_column(TARGET, pa.array([0.0] * table.num_rows, pa.float64()))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frame.arrow")
        feather.write_feather(table, path, compression="uncompressed")
        with _in_words_of_frames(path):
            yield path


#: Messages of the file reader, each with the message that replaces it for frames.
OF_FRAMES = {
    "there are no rows in it; give a file with data": "there are no rows in it; give a frame with rows",
    "add it; where nothing is known, null will do": "add it to X",
    "leave it out with drop, or write": "leave it out of X, or make it",
}


def of_frame(text: str, path: str) -> str:
    """A message of the reader on a temporary file, as one on the frame X: rows count from 0, and columns are not options."""
    text = re.sub(re.escape(path) + r":(\d+)", lambda found: f"X, row {int(found[1]) - 1}", text).replace(path, "X")
    text = re.sub(r"\bin line (\d+)", lambda found: f"in row {int(found[1]) - 1}", text)
    text = re.sub(r"if the column holds names, use categorical=.*", "if the column holds names, train on strings in it", text)
    for words, others in OF_FRAMES.items():
        text = text.replace(words, others)
    return text


@contextlib.contextmanager
def _in_words_of_frames(path: str) -> Iterator[None]:
    """Raises the errors of the reader on a temporary file as errors on the frame X."""
    try:
        yield
    except ValueError as error:
        raise ValueError(of_frame(str(error), path)) from None


@contextlib.contextmanager
def text_file(texts: list[str]) -> Iterator[str]:
    """A temporary file of texts, one row each, with a column for the target."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "texts.txt")
        with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.writelines(f"0\t{' '.join(text.split())}\n" for text in texts)
        with _in_words_of_frames(path):
            yield path


def _plain(pa: Any, kind: Any) -> Any:
    """The type that files have for a type that only memory has."""
    if str(kind) == "string_view":
        return pa.large_string()
    if pa.types.is_dictionary(kind) and str(kind.value_type) in ("string_view", "large_string"):
        return pa.dictionary(pa.int32(), pa.string())
    return kind
