import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
} from '../../src/core/domain/flow/source-parameters.ts'
import type { DataSources } from '../../src/core/domain/ports/engine-ports.ts'
import { AppError, notFound } from '../../src/core/errors.ts'

export interface FakeSources extends DataSources {
  /** The requests, such as `check shop`. */
  readonly asked: string[]
  /** The last source that was passed. */
  last: DataSource | null
}

/** A source's tables, its failure, or that it never responds. */
export type FakeSource = readonly DescribedSourceTable[] | AppError | 'silent'

/** Databases by the names of their data sources. Requests to other names fail. */
export function fakeSources(sources: Readonly<Record<string, FakeSource>>): FakeSources {
  const asked: string[] = []
  const tablesOf = async (what: string, source: DataSource, signal: AbortSignal) => {
    asked.push(`${what} ${source.name}`)
    fake.last = source
    const found = sources[source.name] ?? new AppError('source_failed', 'connection refused')
    if (found === 'silent') return untilAborted(signal)
    if (found instanceof AppError) throw found
    return found
  }
  const refuse = async () => Promise.reject(new Error('not expected'))
  const fake: FakeSources = {
    asked,
    last: null,
    check: async (source, signal) => void (await tablesOf('check', source, signal)),
    tables: (source, signal) => tablesOf('tables', source, signal),
    describeTables: (source, signal) => tablesOf('describeTables', source, signal),
    async columns(source, { schema, name }, signal) {
      const tables = await tablesOf('columns', source, signal)
      const table = tables.find((one) => one.schema === schema && one.name === name)
      if (table === undefined) throw notFound('table', name)
      return table.columns
    },
    async describe(source, _sql, signal) {
      await tablesOf('describe', source, signal)
      return [{ name: 'a', type: 'INTEGER', nativeType: 'int', isNullable: true }]
    },
    stage: refuse,
    forgetTables: ({ id }) => void asked.push(`forget tables of ${id}`),
    forget: async ({ id }) => void asked.push(`forget ${id}`),
    close: async () => {},
  }
  return fake
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

export function fakeTable(
  name: string,
  columns: Readonly<Record<string, string>>,
  schema: string | null = null,
): DescribedSourceTable {
  const described = Object.entries(columns).map(([column, type]): SourceColumn => {
    return { name: column, type, nativeType: type.toLowerCase(), isNullable: column !== 'id' }
  })
  return { schema, name, kind: 'table', columns: described }
}
