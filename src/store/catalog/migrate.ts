import { createHash } from 'node:crypto'
import type { DuckDBConnection } from '@duckdb/node-api'
import catalogSql from '../../../drizzle/0001_catalog.sql' with { type: 'text' }
import viewsAndTablesSql from '../../../drizzle/0002_views_and_tables.sql' with { type: 'text' }
import vectorIndexesSql from '../../../drizzle/0003_vector_indexes.sql' with { type: 'text' }
import nextVectorsSql from '../../../drizzle/0004_next_vectors.sql' with { type: 'text' }
import knowledgeBasesSql from '../../../drizzle/0005_knowledge_bases_without_keys.sql' with {
  type: 'text',
}
import filesAsSentSql from '../../../drizzle/0006_files_as_sent.sql' with { type: 'text' }
import dataSourcesSql from '../../../drizzle/0007_data_sources.sql' with { type: 'text' }
import jobsSql from '../../../drizzle/0008_jobs.sql' with { type: 'text' }
import syncSourcesSql from '../../../drizzle/0009_sync_sources.sql' with { type: 'text' }
import schedulesSql from '../../../drizzle/0010_schedules.sql' with { type: 'text' }
import tracesSql from '../../../drizzle/0011_traces.sql' with { type: 'text' }
import conversationsSql from '../../../drizzle/0012_conversations.sql' with { type: 'text' }
import accessSql from '../../../drizzle/0013_access.sql' with { type: 'text' }
import askedBySql from '../../../drizzle/0014_asked_by.sql' with { type: 'text' }
import findingsSql from '../../../drizzle/0015_findings.sql' with { type: 'text' }
import skippedRowsSql from '../../../drizzle/0016_skipped_rows.sql' with { type: 'text' }
import storagesSql from '../../../drizzle/0017_storages.sql' with { type: 'text' }
import evidenceSql from '../../../drizzle/0018_evidence.sql' with { type: 'text' }
import attachmentsSql from '../../../drizzle/0019_attachments.sql' with { type: 'text' }
import { literal } from '../../core/domain/names.ts'
import { StartError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import type { Database } from '../duckdb/database.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

/** Numbered from 1. Never edit a released migration: add a new file. */
export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: '0001_catalog', sql: catalogSql },
  { number: 2, name: '0002_views_and_tables', sql: viewsAndTablesSql },
  { number: 3, name: '0003_vector_indexes', sql: vectorIndexesSql },
  { number: 4, name: '0004_next_vectors', sql: nextVectorsSql },
  { number: 5, name: '0005_knowledge_bases_without_keys', sql: knowledgeBasesSql },
  { number: 6, name: '0006_files_as_sent', sql: filesAsSentSql },
  { number: 7, name: '0007_data_sources', sql: dataSourcesSql },
  { number: 8, name: '0008_jobs', sql: jobsSql },
  { number: 9, name: '0009_sync_sources', sql: syncSourcesSql },
  { number: 10, name: '0010_schedules', sql: schedulesSql },
  { number: 11, name: '0011_traces', sql: tracesSql },
  { number: 12, name: '0012_conversations', sql: conversationsSql },
  { number: 13, name: '0013_access', sql: accessSql },
  { number: 14, name: '0014_asked_by', sql: askedBySql },
  { number: 15, name: '0015_findings', sql: findingsSql },
  { number: 16, name: '0016_skipped_rows', sql: skippedRowsSql },
  { number: 17, name: '0017_storages', sql: storagesSql },
  { number: 18, name: '0018_evidence', sql: evidenceSql },
  { number: 19, name: '0019_attachments', sql: attachmentsSql },
]

/**
 * One transaction per step; a new folder takes a single one, so that it waits for the disk once.
 * @throws StartError for a newer file or an edited migration
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const applied = await database.lease(appliedHashes)
  const newest = Math.max(0, ...applied.keys())
  const known = Math.max(0, ...migrations.map(({ number }) => number))
  if (newest > known) {
    const versions = `catalog version ${newest}, this program knows up to ${known}`
    const next = 'start that version, or restore a backup from before its upgrade'
    throw new StartError(`The data folder was written by a newer Eider (${versions}): ${next}`)
  }
  const hashed = migrations.map((migration) => ({
    ...migration,
    hash: migrationHash(migration.sql),
  }))
  for (const { number, name, hash } of hashed) {
    if ((applied.get(number) ?? hash) === hash) continue
    const where = `Catalog step ${name} of the data folder`
    throw new StartError(`${where} differs from this program's: its file was edited`)
  }
  const missing = hashed.filter(({ number }) => !applied.has(number))
  if (applied.size > 0) {
    for (const migration of missing) await database.write((c) => c.run(statementsOf(migration)))
    return
  }
  const all = [CREATE_MIGRATIONS, ...missing.map(statementsOf)]
  await database.write((connection) => connection.run(all.join('\n')))
}

const CREATE_MIGRATIONS = `CREATE SCHEMA IF NOT EXISTS eider;
  CREATE TABLE IF NOT EXISTS eider.migrations (
    number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, hash VARCHAR NOT NULL);`

/** Returns the hash of each applied migration; empty for a new data folder. */
async function appliedHashes(connection: DuckDBConnection): Promise<ReadonlyMap<number, string>> {
  const sql = `SELECT 1 FROM duckdb_tables()
    WHERE schema_name = 'eider' AND table_name = 'migrations'`
  const known = await allRows(connection, sql)
  if (known.length === 0) return new Map()
  const found = await allRows(connection, 'SELECT number, hash FROM eider.migrations')
  return new Map(found.map(([number, hash]) => [Number(number), String(hash)]))
}

function statementsOf({ number, name, sql, hash }: Migration & { readonly hash: string }): string {
  const row = `${number}, ${literal(name)}, ${literal(hash)}`
  return `${sql}\n;\nINSERT INTO eider.migrations VALUES (${row});`
}

/** Ignores line endings, which git may change on checkout. */
function migrationHash(sql: string): string {
  return createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex')
}
