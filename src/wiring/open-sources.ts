import type { Guard } from '../core/runtime/address-policy.ts'
import { FileSource } from '../sources/files/file-source.ts'
import { MysqlSource } from '../sources/mysql/mysql-source.ts'
import { PostgresSource } from '../sources/postgres/postgres-source.ts'
import { type Engines, Sources } from '../sources/sources.ts'
import type { StagingFolder } from '../sources/staged-csv.ts'

export interface SourcesOptions {
  /** Which servers may be connected to. */
  readonly guard: Guard
  /** Where DuckDB may read what is staged. */
  readonly staging: StagingFolder
  readonly files: SourceFilesOptions
}

export interface SourceFilesOptions {
  /** EIDER_SOURCES_DIR; null: no file may be read. */
  readonly folder: string | null
  /** For one process that reads a file. */
  readonly memoryBytes: number
  /** All that such a process has of one: nothing secret. */
  readonly environment: Readonly<Record<string, string>>
}

/** Opens no connection yet. */
export function openSources({ guard, staging, files }: SourcesOptions): Sources {
  const { folder, memoryBytes, environment } = files
  const entryUrl = new URL('./threads/source-file-entry.ts', import.meta.url).href
  const deps = { folder, memoryBytes, staging, process: { entryUrl, environment } }
  const engines: Engines = {
    postgres: new PostgresSource({ guard, staging }),
    mysql: new MysqlSource({ guard, staging }),
    sqlite: new FileSource('sqlite', deps),
    duckdb: new FileSource('duckdb', deps),
  }
  return new Sources({ engines, nowMs: () => performance.now() })
}
