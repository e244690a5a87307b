import type { Guard } from '../core/runtime/address-policy.ts'
import { FileSource } from '../sources/files/file-source.ts'
import { MysqlSource } from '../sources/mysql/mysql-source.ts'
import { PostgresSource } from '../sources/postgres/postgres-source.ts'
import { type Engines, Sources } from '../sources/sources.ts'
import type { StagingFolder } from '../sources/staged-csv.ts'

export interface SourcesOptions {
  readonly guard: Guard
  /** The folder from which DuckDB may read staged data. */
  readonly staging: StagingFolder
  readonly files: SourceFilesOptions
}

export interface SourceFilesOptions {
  /** EIDER_SOURCES_DIR; null if no file may be read. */
  readonly folder: string | null
  readonly memoryBytes: number
  /** The environment of such a process, which contains no secret. */
  readonly environment: Readonly<Record<string, string>>
}

/** Creates the connectors of data sources, without connecting yet. */
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
