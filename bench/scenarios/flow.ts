import { type TestServer, testMariadb, testPostgres } from '../../tests/support/database-servers.ts'
import { type FeltBench, felt, withFeltServer } from '../felt-work.ts'
import { createKnowledgeBase, fillMore } from '../filling.ts'
import { type SampleTexts, sampleTexts } from '../sample-texts.ts'
import type { BenchSize, Measure, Scenario } from '../scenario.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const ROWS = { quick: 100_000, normal: 1_000_000, full: 1_000_000 }
const DOCUMENTS = { quick: 4000, normal: 20_000, full: 100_000 }

/** Measures reading from a database and inserting, and how this affects other clients. */
export const flow: Scenario = {
  name: 'flow',
  title: 'Rows of databases and inserts: event loop, memory, processor',
  run: async (size) => {
    const texts = await sampleTexts()
    return withFeltServer(async (bench) => [
      ...(await databaseReads(bench, POSTGRES, size)),
      ...(await databaseReads(bench, MARIADB, size)),
      ...(await inserts(bench, texts, size)),
    ])
  },
}

interface Read {
  readonly engine: 'postgres' | 'mysql'
  start(): Promise<TestServer | null>
  /** Returns SQL for a table `big` with this many rows of about 130 bytes. */
  fill(rows: number): string
}

const POSTGRES: Read = {
  engine: 'postgres',
  start: testPostgres,
  fill: (rows) => `CREATE UNLOGGED TABLE big AS SELECT i AS id, md5(i::text) || ' tea' AS name,
    (i % 1000)::numeric(10,2) AS price, timestamp '2024-01-01' + i * interval '1 second' AS at, i % 2 = 0 AS ok,
    i * 1.5::float8 AS share, repeat('word ', 10) AS body FROM generate_series(1, ${rows}) i; ANALYZE big`,
}

const MARIADB: Read = {
  engine: 'mysql',
  start: testMariadb,
  fill: (rows) => `CREATE TABLE big AS SELECT seq AS id, concat(md5(seq), ' tea') AS name,
    CAST(seq % 1000 AS decimal(10,2)) AS price, timestamp '2024-01-01 00:00:00' + INTERVAL seq SECOND AS at, seq % 2 = 0 AS ok,
    seq * 1.5e0 AS share, repeat('word ', 10) AS body FROM seq_1_to_${rows}`,
}

/** Returns nothing if the database is not installed. */
async function databaseReads(
  bench: FeltBench,
  { engine, start, fill }: Read,
  size: BenchSize,
): Promise<readonly Measure[]> {
  const rows = ROWS[size]
  const database = await start()
  if (database === null) return []
  try {
    await database.run(fill(rows))
    const { client, server } = bench
    const parameters = JSON.stringify(database.parameters)
    await client.sql(`CREATE DATABASE ${engine}_rows ENGINE = '${engine}' PARAMETERS ${parameters}`)
    const table = `${engine}_rows.big`
    const first = async (sql: string, expected: number) => {
      const { rows: found } = await client.sql(sql)
      if (Number(found[0]?.[0]) === expected) return rows
      throw new Error(`${sql} gave ${JSON.stringify(found.slice(0, 3))}`)
    }
    await first(`SELECT count(*) FROM ${table}`, rows)
    const one = (what: string, work: () => Promise<number>) => {
      return felt(bench, { what: `${engine}, ${what}`, unit: 'rows' }, work)
    }
    return [
      ...(await one('groups, made there', () =>
        first(`SELECT count(*) FROM ${table} GROUP BY ok`, rows / 2),
      )),
      ...(await one('groups, made here', () =>
        first(`SELECT count(*) FROM ${table} GROUP BY md5(body), ok`, rows / 2),
      )),
      ...(await one('copied into a table', async () => {
        await client.sql(`CREATE TABLE ${engine}_copied AS SELECT * FROM ${table}`)
        return first(`SELECT count(*) FROM ${engine}_copied`, rows)
      })),
      ...(await one('as an answer', async () => {
        await drain(`${server.baseUrl}/api/sql/query`, `SELECT * FROM ${table}`)
        return rows
      })),
    ]
  } finally {
    await database.stop()
  }
}

async function drain(url: string, query: string): Promise<void> {
  const headers = { 'content-type': 'application/json', accept: 'application/x-ndjson' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) })
  if (!answer.ok) throw new Error(await answer.text())
  let last: Uint8Array = new Uint8Array()
  for await (const part of answer.body ?? []) last = part
  const end = new TextDecoder().decode(last.slice(-500))
  if (end.includes('"type":"error"')) throw new Error(end)
}

async function inserts(
  bench: FeltBench,
  texts: SampleTexts,
  size: BenchSize,
): Promise<readonly Measure[]> {
  const stub = await startStubProvider()
  try {
    const filling = {
      knowledgeBase: 'filled',
      embeddingModel: stubEmbeddingModel(stub),
      documents: DOCUMENTS[size],
      wordsPerDocument: 100,
    }
    await createKnowledgeBase(bench, filling)
    return await felt(bench, { unit: 'chunks', what: 'inserts of 2,000 rows' }, async () => {
      await fillMore(bench, filling, { texts, from: 0 })
      return filling.documents
    })
  } finally {
    stub.stop()
  }
}
