/** The real `DataSources` for a test's database, with DuckDB as the reader of staged rows. */
import { expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import type { DataSource, DataSourceEngine } from '../../src/core/domain/flow/source-parameters.ts'
import type {
  DataSources,
  RunLimits,
  SourceSelect,
  StagedRows,
} from '../../src/core/domain/ports/engine-ports.ts'
import type { RemoteDatabases } from '../../src/core/domain/ports/storage-ports.ts'
import type { ResultValue, RowStream } from '../../src/core/domain/query-result.ts'
import type { AppError } from '../../src/core/errors.ts'
import { addressPolicy, internet } from '../../src/core/runtime/address-policy.ts'
import { madeRows } from '../../src/store/duckdb/result-rows.ts'
import { environmentOfReaders } from '../../src/wiring/settings/settings.ts'
import { dataSourcesOf } from '../../src/wiring/source-parts.ts'

export const LIMITS = { timeoutMs: 30_000 }

export interface TestSources {
  readonly sources: DataSources & RemoteDatabases
  /** The folder in which it stages rows. */
  readonly directory: string
  close(): Promise<void>
}

export function testSources(
  options: {
    readonly isOpen?: boolean
    readonly folder?: string | null
    readonly memoryBytes?: number
  } = {},
): TestSources {
  const directory = mkdtempSync(join(tmpdir(), 'eider-staged-'))
  const policy = addressPolicy({
    setting: 'EIDER_NETWORK_ALLOW',
    entries: [],
    isOpen: options.isOpen ?? true,
  })
  const sources = dataSourcesOf({
    guard: { policy, network: internet },
    staging: { directory, reserveBytes: 0 },
    files: {
      folder: options.folder ?? null,
      memoryBytes: options.memoryBytes ?? 1024 ** 3,
      environment: environmentOfReaders(),
    },
  })
  return {
    sources,
    directory,
    async close() {
      await sources.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

let lastId = 0

export function dataSource(
  engine: DataSourceEngine,
  parameters: Readonly<Record<string, unknown>>,
): DataSource {
  lastId += 1
  const createdAt = '2026-01-01 00:00:00.000000'
  return { id: lastId, name: 'shop', engine, parameters, createdAt, updatedAt: createdAt }
}

export async function allRows(stream: RowStream): Promise<readonly (readonly ResultValue[])[]> {
  const rows: (readonly ResultValue[])[] = []
  for await (const batch of stream.batches) rows.push(...batch)
  return rows
}

/**
 * Returns the rows as responses show them: the source stages them, then DuckDB reads them, as in
 * the server.
 */
export async function readRows(
  sources: Pick<DataSources, 'stage'>,
  [source, select]: readonly [DataSource, SourceSelect],
  limits: RunLimits,
  signal: AbortSignal,
): Promise<Pick<RowStream, 'columns'> & { readonly rows: Awaited<ReturnType<typeof allRows>> }> {
  const staged = await sources.stage(source, select, limits, signal)
  try {
    return await withDuckDB(async (connection) => {
      const stream = madeRows(await connection.run(staged.select))
      return { columns: stream.columns, rows: await allRows(stream) }
    })
  } finally {
    await staged.release()
  }
}

async function withDuckDB<T>(use: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  try {
    await connection.run("SET TimeZone = 'UTC'")
    return await use(connection)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Returns the rows as DuckDB reads them, with each value as text, which loses nothing. */
export function stagedTexts({
  select,
  columns,
}: StagedRows): Promise<readonly (readonly unknown[])[]> {
  return withDuckDB(async (connection) => {
    const names = columns.map((_, index) => `c${index}`).join(', ')
    const values = columns.map((_, index) => `CAST(c${index} AS VARCHAR)`)
    const sql = `SELECT ${values.join(', ')} FROM (${select}) AS s(${names})`
    return (await connection.runAndReadAll(sql)).getRows()
  })
}

/** Returns the error that the work throws. */
export async function failure(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => null,
    (thrown: AppError) => thrown,
  )
  if (error === null) throw new Error('it did not fail')
  return error
}

/**
 * The type, the value as SQL, DuckDB's type, the value in responses, and the value that DuckDB
 * reads.
 */
export type TypeCase = readonly [string, string, string, unknown, string | null]

/**
 * Each case is a column of a table, after the first column. The first row has the values, and the
 * second row has none.
 */
export async function expectTypes(
  { sources, source }: { readonly sources: DataSources; readonly source: DataSource },
  select: { readonly sql: string; readonly values: readonly number[] },
  cases: readonly TypeCase[],
): Promise<void> {
  const { signal } = new AbortController()
  const described = await sources.columns(source, { schema: null, name: 'odd' }, signal)
  const read = await readRows(sources, [source, select], LIMITS, signal)
  const [shown = [], nulls = []] = read.rows
  const staged = await sources.stage(source, select, LIMITS, signal)
  const [texts = [], stagedNulls = []] = await stagedTexts(staged)
  await staged.release()
  for (const [index, [type, value, duckdb, answer, text]] of cases.entries()) {
    const found = {
      described: described[index + 1]?.type,
      read: read.columns[index + 1]?.type,
      staged: staged.columns[index + 1]?.type,
      shown: shown[index + 1],
      text: texts[index + 1],
      nulls: [nulls[index + 1], stagedNulls[index + 1]],
    }
    const types = { described: duckdb, read: duckdb, staged: duckdb }
    const expected = { type, value, ...types, shown: answer, text, nulls: [null, null] }
    expect<unknown>({ type, value, ...found }).toEqual(expected)
  }
}
