import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { ReadingOptions } from '../../src/core/domain/ports/reading-ports.ts'
import type { Recognized } from '../../src/core/domain/uploaded-file.ts'
import { readFile } from '../../src/reading/processes/read-file.ts'

interface FoundTable {
  readonly name: string | null
  /** `name TYPE` */
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

interface FoundFile {
  readonly format: string
  readonly recognized: Recognized
  readonly warnings: readonly string[]
  readonly tables: readonly FoundTable[]
}

/** Reads bytes as a reader process does, and the Parquet files that come out. Values are as DuckDB writes them in JSON. */
export async function readBytes(
  name: string,
  content: string | Uint8Array,
  options: ReadingOptions = {},
): Promise<FoundFile> {
  const folder = await mkdtemp(join(tmpdir(), 'eider-tables-'))
  try {
    const path = join(folder, 'sent')
    await writeFile(path, content)
    let recognized: Recognized = {}
    const warnings: string[] = []
    const source = { path, name, contentType: null, url: null, options }
    const { format, tables } = await readFile(source, folder, {
      recognize: (found) => {
        recognized = { ...recognized, ...found }
      },
      warn: (sentence) => warnings.push(sentence),
    })
    const found: FoundTable[] = []
    for (const table of tables) {
      const rows = await rowsOf(table.path)
      const columns = table.columns.map((column) => `${column.name} ${column.type}`)
      found.push({ name: table.name, columns, rows })
    }
    return { format, recognized, warnings, tables: found }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the only table of a file. */
export async function readTable(
  name: string,
  content: string | Uint8Array,
  options: ReadingOptions = {},
): Promise<FoundFile & FoundTable> {
  const file = await readBytes(name, content, options)
  const [table] = file.tables
  if (table === undefined) throw new Error(`${name} holds no table`)
  return { ...file, ...table }
}

async function rowsOf(path: string): Promise<readonly (readonly unknown[])[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  try {
    const result = await connection.runAndReadAll(`SELECT * FROM read_parquet('${path}')`)
    return result.getRowsJson()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
