"""Tables with text, categories and dates: pandas, polars and Arrow frames, read by the program's own readers.

A frame of numbers is an array to scikit-learn, and is taken as one. Any other frame becomes an Arrow file, and is read as the program reads such a
file: ``city=Rome`` is a feature, sentences become words, dates become parts, and missing numbers get an indicator.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any

#: The column that stands for the target while a frame is read; the targets themselves are passed as ``y``.
TARGET = "lazyglm_target"


def is_table(X: Any) -> bool:
    """Whether this is a frame with columns that are not numbers."""
    if not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_arrow")) or not hasattr(X, "columns"):
        return False
    return any(not _is_number(str(kind).lower()) for kind in _types(X))


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
        import pyarrow.feather as feather
    except ImportError:
        raise ImportError("frames with text, categories or dates need pyarrow: pip install pyarrow, or encode the columns as numbers") from None
    table = pa.Table.from_pandas(X, preserve_index=False) if hasattr(X, "to_numpy") and hasattr(X, "index") else pa.table(X)
    if TARGET in table.column_names:
        raise ValueError(f"a column is called {TARGET!r}, which is the name that stands for the target: rename it")
    plain = [pa.field(field.name, _plain(pa, field.type)) for field in table.schema]
    table = table.replace_schema_metadata(None).cast(pa.schema(plain))
    table = table.append_column(TARGET, pa.array([0.0] * table.num_rows, pa.float64()))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frame.arrow")
        feather.write_feather(table, path, compression="uncompressed")
        yield path


def _plain(pa: Any, kind: Any) -> Any:
    """The type that files have for a type that only memory has."""
    if str(kind) == "string_view":
        return pa.large_string()
    if pa.types.is_dictionary(kind) and str(kind.value_type) in ("string_view", "large_string"):
        return pa.dictionary(pa.int32(), pa.string())
    return kind
