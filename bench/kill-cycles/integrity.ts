/** Checks what must hold in a data folder after a crash. Each function returns the violations. */
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import type { EiderClient } from '../../scripts/eider-client.ts'

const NEAREST = 10
const DISTANCE_ERROR_MAX = 1e-5

/** The nearest from memory must match a scan. Without a LIMIT, the statement measures all vectors. */
export async function searchFaults(client: EiderClient): Promise<readonly string[]> {
  const sql = "SELECT distance FROM docs WHERE content = 'version 7 part 1 tea' ORDER BY distance"
  const nearest = await distances(client, `${sql} LIMIT ${NEAREST}`)
  const scanned = (await distances(client, sql)).slice(0, NEAREST)
  const isSame =
    nearest.length === scanned.length &&
    nearest.every((one, rank) => Math.abs(one - (scanned[rank] ?? 2)) < DISTANCE_ERROR_MAX)
  return isSame ? [] : [`search: ${nearest} from memory, ${scanned} by a scan`]
}

async function distances(client: EiderClient, sql: string): Promise<readonly number[]> {
  return (await client.sql(sql)).rows.map(([distance]) => Number(distance))
}

/** Checks that chunks, vectors, term counts and postings match. No server may be using the folder. */
export async function tableFaults(directory: string): Promise<readonly string[]> {
  const path = join(directory, 'eider-data.duckdb')
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  try {
    const bases = await rowsOf(
      connection,
      "SELECT schema_name, replace(table_name, '_chunks', '') FROM duckdb_tables() WHERE table_name LIKE 'kb!_%!_chunks' ESCAPE '!'",
    )
    if (bases.length === 0) return ['tables: there is no knowledge base']
    const faults: string[] = []
    for (const [schema, base] of bases)
      faults.push(...(await baseFaults(connection, `${schema}`, `${base}`)))
    return faults
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

async function baseFaults(
  connection: DuckDBConnection,
  schema: string,
  base: string,
): Promise<readonly string[]> {
  const table = (part: string) => `${schema}.${base}_${part}`
  const chunks = table('chunks')
  const postings = `(FROM ${table('postings')} UNION ALL FROM ${table('recent_postings')})`
  const vectors = await rowsOf(
    connection,
    `SELECT table_name FROM duckdb_tables() WHERE schema_name = '${schema}' AND starts_with(table_name, '${base}_vectors')`,
  )
  const keys = (relation: string) => `SELECT chunk_key FROM ${relation}`
  // EXCEPT ALL in both directions checks that both have the same keys equally often.
  const differs = (a: string, b: string) =>
    `(${a} EXCEPT ALL ${b}) UNION ALL (${b} EXCEPT ALL ${a})`
  const checks: Readonly<Record<string, string>> = {
    'term counts of other chunks': differs(keys(chunks), keys(table('term_counts'))),
    'postings that do not add up': `SELECT chunk_key FROM ${table('term_counts')} c
      FULL JOIN (SELECT chunk_key, sum(frequency) AS found, min(term_count) AS least, max(term_count) AS most
        FROM ${postings} GROUP BY chunk_key) p USING (chunk_key)
      WHERE coalesce(c.term_count, -1) <> coalesce(p.found, 0) OR (p.found IS NOT NULL AND (least <> c.term_count OR most <> c.term_count))`,
    'a term twice in a chunk': `SELECT chunk_key FROM ${postings} GROUP BY term, chunk_key HAVING count(*) > 1`,
    'a chunk twice': `SELECT chunk_id FROM ${chunks} GROUP BY document_id, chunk_id HAVING count(*) > 1`,
    ...(vectors.length === 1
      ? { 'vectors of other chunks': differs(keys(chunks), keys(`${schema}.${vectors[0]?.[0]}`)) }
      : {}),
  }
  const faults: string[] =
    vectors.length > 1 ? [`${base}: ${vectors.length} tables of vectors`] : []
  for (const [what, sql] of Object.entries(checks)) {
    const found = await rowsOf(connection, `SELECT count(*) FROM (${sql})`)
    if (Number(found[0]?.[0]) > 0) faults.push(`${base}: ${found[0]?.[0]} ${what}`)
  }
  return faults
}

async function rowsOf(connection: DuckDBConnection, sql: string) {
  return (await connection.runAndReadAll(sql)).getRows()
}
