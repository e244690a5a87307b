/** Names that the shell completes: read from the server when first needed. */
import type { HttpClient } from '../http-client.ts'
import { runSql } from './statement-client.ts'

interface TableName {
  readonly schema: string
  readonly table: string
}

interface Known {
  readonly tables: readonly TableName[]
  /** In lower case → names. */
  readonly columns: ReadonlyMap<string, readonly string[]>
}

const NOTHING_KNOWN: Known = { tables: [], columns: new Map() }

export class ShellNames {
  readonly #client: HttpClient
  #known: Promise<Known> | null = null

  constructor(client: HttpClient) {
    this.#client = client
  }

  /** Names may have changed. */
  forget(): void {
    this.#known = null
  }

  known(project: string): Promise<Known> {
    this.#known ??= this.#read(project).catch(() => {
      this.#known = null
      return NOTHING_KNOWN
    })
    return this.#known
  }

  async #read(project: string): Promise<Known> {
    const signal = AbortSignal.timeout(NAMES_MS)
    const rowsOf = async (sql: string) => {
      const answer = await runSql({ sql, project, params: {} }, this.#client, signal)
      const rows: (readonly unknown[])[] = []
      if (answer.kind === 'table') for await (const batch of answer.batches) rows.push(...batch)
      return rows
    }
    const tables = await rowsOf(
      'SELECT table_schema, table_name FROM information_schema.tables LIMIT 10000',
    )
    const columns = await rowsOf(
      'SELECT table_name, column_name FROM information_schema.columns LIMIT 50000',
    )
    const byTable = Map.groupBy(columns, ([table]) => String(table).toLowerCase())
    return {
      tables: tables.map(([schema, table]) => ({ schema: String(schema), table: String(table) })),
      columns: new Map(
        [...byTable].map(([table, rows]) => [table, rows.map(([, column]) => String(column))]),
      ),
    }
  }
}

const NAMES_MS = 5_000

/** Completions at the end of this line, and the part they replace. */
export async function completionsOf(
  line: string,
  names: Pick<ShellNames, 'known'>,
  project: string,
): Promise<[string[], string]> {
  const [piece = ''] = /[^\s(),;=<>'+*/]*$/.exec(line) ?? []
  if (piece.startsWith('\\')) return [startingWith(SHELL_COMMANDS, piece), piece]
  const { tables, columns } = await names.known(project)
  const own = tables
    .filter(({ schema }) => isSameName(schema, project))
    .map(({ table }) => shownName(table))
  const [, before] = /^(.*)\.[^.]*$/s.exec(piece) ?? []
  if (before !== undefined) {
    const inSchema = tables.filter(({ schema }) => isSameName(schema, before))
    const ofTable = columns.get(before.toLowerCase()) ?? []
    const all = [...inSchema.map(({ table }) => shownName(table)), ...ofTable.map(shownName)]
    return [
      startingWith(
        all.map((name) => `${before}.${name}`),
        piece,
      ),
      piece,
    ]
  }
  const schemas = new Set(tables.map(({ schema }) => shownName(schema)))
  const afterTable = /\b(?:from|join|into|update|table|describe|base|view)\s+\S*$/i.test(line)
  if (afterTable || /^\s*\\\w+\s+\S*$/.test(line)) {
    return [startingWith([...own, ...[...schemas].map((name) => `${name}.`)], piece), piece]
  }
  const mentioned = own.filter((table) => line.toLowerCase().includes(table.toLowerCase()))
  const known = mentioned.flatMap((table) => columns.get(table.toLowerCase()) ?? [])
  const words = piece === '' ? [] : keywordsLike(piece)
  return [startingWith([...known.map(shownName), ...own, ...words], piece), piece]
}

function isSameName(first: string, second: string): boolean {
  return first.toLowerCase() === second.toLowerCase()
}

function startingWith(names: readonly string[], piece: string): string[] {
  const key = piece.toLowerCase()
  return [...new Set(names)].filter((name) => name.toLowerCase().startsWith(key)).sort()
}

function shownName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** In the case of the typed part. */
function keywordsLike(piece: string): readonly string[] {
  const isLower = piece === piece.toLowerCase()
  return isLower ? KEYWORDS.map((word) => word.toLowerCase()) : KEYWORDS
}

export const SHELL_COMMANDS = [
  '\\?',
  '\\a',
  '\\d',
  '\\dt',
  '\\l',
  '\\q',
  '\\timing',
  '\\use',
  '\\x',
] as const

const KEYWORDS =
  'SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT OFFSET JOIN LEFT RIGHT FULL INNER OUTER CROSS ON USING AS AND OR NOT IN IS NULL LIKE ILIKE BETWEEN EXISTS CASE WHEN THEN ELSE END DISTINCT UNION ALL INTERSECT EXCEPT WITH RECURSIVE VALUES INSERT INTO UPDATE SET DELETE CREATE ALTER DROP SHOW DESCRIBE USE EXPLAIN EVALUATE TABLE VIEW PROJECT DATABASE DATABASES TABLES AGENT AGENTS KNOWLEDGE_BASE KNOWLEDGE_BASES JOB JOBS INDEX ENGINE PARAMETERS CAST COUNT SUM AVG MIN MAX COALESCE ASC DESC NULLS FIRST LAST OVER PARTITION ROWS QUALIFY SAMPLE PIVOT UNPIVOT TRUE FALSE INTERVAL DATE TIMESTAMP EXTRACT content relevance distance hybrid_search'.split(
    ' ',
  )
