/** The real `DataSources` over a database of a test, and DuckDB as a reader of what it stages. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { DataSource, DataSourceEngine } from '../../src/core/domain/flow/source-parameters.ts'
import type { DataSources, StagedRows } from '../../src/core/domain/ports/engine-ports.ts'
import type { ResultValue, RowStream } from '../../src/core/domain/query-result.ts'
import { addressPolicy, internet } from '../../src/core/runtime/address-policy.ts'
import { environmentOfReaders } from '../../src/wiring/settings/settings.ts'
import { dataSourcesOf } from '../../src/wiring/source-parts.ts'

export const LIMITS = { timeoutMs: 30_000 }

export interface TestSources {
  readonly sources: DataSources
  /** Where it stages rows. */
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

/** As DuckDB reads them: each value as its own text, which loses nothing. */
export async function stagedTexts({
  select,
  columns,
}: StagedRows): Promise<readonly (readonly unknown[])[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  try {
    await connection.run("SET TimeZone = 'UTC'")
    const names = columns.map((_, index) => `c${index}`).join(', ')
    const values = columns.map((_, index) => `CAST(c${index} AS VARCHAR)`)
    const sql = `SELECT ${values.join(', ')} FROM (${select}) AS s(${names})`
    return (await connection.runAndReadAll(sql)).getRows()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
