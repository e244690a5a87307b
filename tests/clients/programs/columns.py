"""Reads rows by link and as Arrow, with the libraries of notebooks, as docs/notebooks.md shows it."""
import json
import os
from decimal import Decimal
from urllib.parse import urlencode
from urllib.request import urlopen

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import requests

EIDER = os.environ["EIDER_URL"]
KEY = os.environ["EIDER_KEY"]


def link(query, format="csv", **more):
    return f"{EIDER}/api/sql/query?{urlencode({'query': query, 'format': format, **more})}"


def arrow(query, **body):
    headers = {"Accept": "application/vnd.apache.arrow.stream", "Authorization": f"Bearer {KEY}"}
    answer = requests.post(f"{EIDER}/api/sql/query", json={"query": query, **body}, headers=headers, stream=True)
    answer.raise_for_status()
    return answer


def table(query, **body):
    with arrow(query, **body) as answer:
        found = pa.ipc.open_stream(answer.raw).read_all()
    found.validate(full=True)
    return found


seen = {}

# pandas
frame = pd.read_csv(link("SELECT * FROM sales ORDER BY id"))
seen["read_csv"] = [list(frame.columns), len(frame), int(frame.id.sum()), str(frame.dtypes["id"])]
frame = pd.read_csv(link("SELECT 1 AS x"), storage_options={"Authorization": f"Bearer {KEY}"})
seen["read_csv_key"] = frame.x.tolist()
frame = pd.read_csv(link("SELECT 1 AS x", key=KEY))
seen["read_csv_url_key"] = frame.x.tolist()
frame = table("SELECT * FROM sales ORDER BY id").to_pandas()
seen["pandas"] = {name: str(kind) for name, kind in frame.dtypes.items()}
seen["parquet"] = len(pd.read_parquet(link("SELECT * FROM sales", "parquet")))

# polars
frame = pl.read_csv(urlopen(link("SELECT * FROM sales ORDER BY id")))
seen["polars_csv"] = frame.shape
frame = pl.read_ipc_stream(urlopen(link("SELECT * FROM sales ORDER BY id", "arrow")))
seen["polars"] = {name: str(kind) for name, kind in frame.schema.items()}
frame = pl.read_ipc_stream(arrow("SELECT id FROM sales WHERE id < :n", params={"n": 5}).raw)
seen["polars_post"] = frame["id"].to_list()

# DuckDB
rows = table("SELECT * FROM sales")
seen["duckdb"] = duckdb.sql("SELECT region, sum(amount) FROM rows GROUP BY region ORDER BY region").fetchall()
with arrow("SELECT * FROM sales") as answer:
    stream = pa.ipc.open_stream(answer.raw)
    seen["duckdb_stream"] = duckdb.sql("SELECT count(*), max(amount) FROM stream").fetchall()

# A search of a knowledge base, information_schema, SHOW, an empty result
found = table("SELECT id, relevance, metadata FROM kb WHERE content = 'green tea' LIMIT 3")
seen["search"] = [str(found.schema.field("relevance").type), found.num_rows, found.column("id")[0].as_py()]
seen["schema"] = table("SELECT table_name FROM information_schema.tables WHERE table_name = 'sales'").to_pylist()
seen["show"] = table("SHOW KNOWLEDGE_BASES").num_rows
seen["described"] = table("DESCRIBE sales").column_names[:2]
empty = table("SELECT * FROM sales WHERE id < 0")
seen["empty"] = [empty.num_rows, len(empty.schema)]
seen["twice"] = table("SELECT 1 AS a, 2 AS a, 'x' AS \"ä b\"").column_names
seen["count"] = str(table("SELECT count(*) AS n FROM kb").schema.field("n").type)
seen["explained"] = table("EXPLAIN SELECT id FROM kb WHERE content = 'tea'").num_rows > 0

# All types
own = table("SELECT * FROM all_types")
seen["types"] = {field.name: str(field.type) for field in own.schema}
seen["values"] = [
    {
        name: value.hex() if isinstance(value, bytes) else str(value) if isinstance(value, (Decimal, tuple)) or (isinstance(value, int) and abs(value) > 2**53) else value
        for name, value in row.items()
    }
    for row in own.drop_columns(["timestamp_ns"]).to_pylist()
]
seen["nanoseconds"] = str(own.column("timestamp_ns").cast(pa.int64()).to_pylist())
polars = pl.read_ipc_stream(urlopen(link("SELECT * EXCLUDE (interval) FROM all_types", "arrow")))
seen["polars_types"] = {name: str(kind) for name, kind in polars.schema.items()}
pandas = own.to_pandas()
seen["pandas_types"] = {name: str(kind) for name, kind in pandas.dtypes.items()}
seen["duckdb_types"] = dict(duckdb.sql("SELECT column_name, column_type FROM (DESCRIBE FROM own)").fetchall())

# A number that has no place in Arrow fails, and says so
try:
    table("SELECT 170141183460469231731687303715884105727::HUGEINT AS n")
except requests.HTTPError as error:
    seen["too_wide"] = [error.response.status_code, error.response.json()["detail"]]

# Many batches, of texts that lie everywhere
big = table("SELECT id, name, upper(name) AS loud, CASE WHEN id % 3 = 0 THEN NULL ELSE name || id END AS some FROM big WHERE id % 7 < 5 ORDER BY hash(id)")
here = big.to_pandas().sort_values("id")
wanted = [f"row number {n} of all" for n in range(100_000) if n % 7 < 5]
assert here.name.tolist() == wanted
assert here.loud.tolist() == [name.upper() for name in wanted]
seen["big"] = [big.num_rows, here.some.isna().sum().item(), big.column("name").num_chunks > 1]

print(json.dumps(seen, default=str))
