"""psycopg 3, psycopg 2, asyncpg, SQLAlchemy, pandas and polars (by ADBC and connectorx) against the PostgreSQL port."""

import asyncio
import io
import json
import os
from datetime import date, datetime
from decimal import Decimal

import asyncpg
import pandas
import polars
import psycopg
import psycopg2
import sqlalchemy as sa

port = int(os.environ["EIDER_PG_PORT"])
where = f"host=127.0.0.1 port={port} user=eider dbname=mindsdb"
url = f"127.0.0.1:{port}/mindsdb"
search = "SELECT id FROM teas WHERE content = %s ORDER BY relevance DESC LIMIT 1"
found = {}


def psycopg_sync():
    with psycopg.connect(where, autocommit=True) as db:
        db.execute("CREATE TABLE cups (a INTEGER PRIMARY KEY, b VARCHAR, c DECIMAL(10,2), d TIMESTAMP, e BYTEA, f INTEGER[], g DATE)")
        kinds = ["int4", "text", "numeric", "timestamp", "bytea", "int4[]", "date"]
        rows = [
            (1, "it's \\ a\ttab\nline", Decimal("-1.50"), datetime(2026, 1, 2, 3, 4, 5, 678), b"\x00\xff\\", [1, None], date(2026, 1, 2)),
            (2, "", Decimal("0.00"), datetime(1969, 12, 31, 23, 59, 59), b"", [], date(1969, 12, 31)),
            (3, None, None, None, None, None, None),
        ]
        with db.cursor() as cursor:
            with cursor.copy("COPY cups FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(kinds)
                for row in rows:
                    copy.write_row(row)
            found["copied in"] = cursor.rowcount
            cursor.execute("SELECT * FROM cups ORDER BY a")
            found["as sent"] = cursor.fetchall() == rows
            with cursor.copy("COPY (SELECT * FROM cups ORDER BY a) TO STDOUT (FORMAT BINARY)") as copy:
                copy.set_types(kinds)
                found["copied out"] = list(copy.rows()) == rows
            with cursor.copy("COPY (SELECT * FROM cups ORDER BY a) TO STDOUT") as copy:
                copy.set_types(kinds)
                found["copied out as text"] = list(copy.rows()) == rows
            with cursor.copy("COPY cups (a, b) FROM STDIN") as copy:
                copy.write_row((4, "a\\b\tc\nd"))
            with cursor.copy("COPY cups (a, b) FROM STDIN (FORMAT csv)") as copy:
                copy.write(b'5,"x ""y""\n\\z"\r\n6,\r\n7,""\r\n')
            cursor.execute("SELECT b FROM cups WHERE a > 3 ORDER BY a")
            found["texts"] = [b for (b,) in cursor]
            with cursor.copy("COPY (SELECT a, b, 1.5::DOUBLE FROM cups WHERE a > 3 ORDER BY a) TO STDOUT (FORMAT csv)") as copy:
                found["csv"] = b"".join(copy).decode()
        with db.pipeline():
            answers = [db.execute("SELECT %s::int + 1", (n,)) for n in range(3)]
        found["pipeline"] = [answer.fetchone()[0] for answer in answers]
        found["search"] = db.execute(search, ("no caffeine",)).fetchall()
        found["prepared"] = [db.execute("SELECT b FROM cups WHERE a = %s", (5,), prepare=True).fetchone()[0] for _ in range(2)]
    with psycopg.connect(where) as db, db.cursor("c") as cursor:
        cursor.itersize = 100
        cursor.execute("SELECT i::INT FROM range(1000) t(i)")
        found["server-side cursor"] = sum(n for (n,) in cursor)


async def asynchronous():
    async with await psycopg.AsyncConnection.connect(where, autocommit=True) as db:
        answer = await db.execute(search, ("green",))
        found["async psycopg"] = await answer.fetchall()
    db = await asyncpg.connect(f"postgresql://eider@{url}")
    found["asyncpg"] = [list(row.values()) for row in await db.fetch("SELECT a, b, f FROM cups WHERE a = ANY($1) ORDER BY a", [1, 2])]
    await db.copy_records_to_table("cups", records=[(8, "eight"), (9, None)], columns=["a", "b"])
    found["asyncpg copied in"] = await db.fetchval("SELECT count(*) FROM cups WHERE a > 7")
    out = io.BytesIO()
    await db.copy_from_query("SELECT a, b FROM cups WHERE a > 7 ORDER BY a", output=out, format="csv", header=True)
    found["asyncpg copied out"] = out.getvalue().decode()
    try:
        await db.copy_records_to_table("cups", records=[(10, "ten"), (8, "again")], columns=["a", "b"])
    except asyncpg.PostgresError as error:
        found["asyncpg refused"] = [error.sqlstate, await db.fetchval("SELECT count(*) FROM cups WHERE a > 9")]
    async with db.transaction():
        found["asyncpg cursor"] = [row["i"] async for row in db.cursor("SELECT i FROM range(120) t(i)")][-1]
    await db.close()


def psycopg_2():
    db = psycopg2.connect(where)
    db.autocommit = True
    with db.cursor() as cursor:
        cursor.execute("SELECT id FROM teas WHERE content = %s ORDER BY relevance DESC LIMIT 1", ("green",))
        found["psycopg 2"] = cursor.fetchall()
    db.close()


def reflection():
    engine = sa.create_engine(f"postgresql+psycopg://eider@{url}", isolation_level="AUTOCOMMIT")
    seen = sa.inspect(engine)
    found["tables"] = [seen.get_schema_names(), seen.get_table_names(), seen.get_view_names()]
    found["columns"] = [[column["name"], str(column["type"]), column["nullable"]] for column in seen.get_columns("cups")]
    found["keys"] = [seen.get_pk_constraint("cups")["constrained_columns"], seen.get_foreign_keys("cups"), seen.get_indexes("cups")]
    found["constraints"] = [seen.get_unique_constraints("cups"), seen.get_check_constraints("cups"), seen.get_table_comment("teas")]
    whole = sa.MetaData()
    whole.reflect(engine, views=True)
    found["reflected"] = sorted(whole.tables)
    with engine.connect() as db:
        cups = whole.tables["cups"]
        found["sqlalchemy"] = [tuple(row) for row in db.execute(sa.select(cups.c.a, cups.c.c).where(cups.c.a < 2))]
        frame = pandas.read_sql("SELECT a, g FROM cups ORDER BY a LIMIT 2", db)
    found["pandas"] = [list(frame.columns), frame["a"].tolist()]


def frames():
    sql = "SELECT a, b, d FROM cups WHERE a < 3 ORDER BY a"
    for engine in ("adbc", "connectorx"):
        frame = polars.read_database_uri(sql, f"postgresql://eider@{url}", engine=engine)
        found[engine] = [[str(kind) for kind in frame.dtypes], frame["a"].to_list()]


psycopg_sync()
asyncio.run(asynchronous())
psycopg_2()
reflection()
frames()
print(json.dumps(found, default=str))
