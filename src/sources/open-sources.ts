import type { Guard } from '../network/pinned-fetch.ts'
import { MysqlSource } from './mysql/mysql-source.ts'
import { PostgresSource } from './postgres/postgres-source.ts'
import { type Engines, Sources } from './sources.ts'
import type { StagingFolder } from './staged-csv.ts'

export interface SourcesOptions {
  /** Which servers may be connected to. */
  readonly guard: Guard
  /** Where DuckDB may read what is staged. */
  readonly staging: StagingFolder
}

/** Opens no connection yet. */
export function openSources({ guard, staging }: SourcesOptions): Sources {
  const engines: Engines = {
    postgres: new PostgresSource({ guard, staging }),
    mysql: new MysqlSource({ guard, staging }),
  }
  return new Sources({ engines, nowMs: () => performance.now() })
}
