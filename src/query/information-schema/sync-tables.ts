/** What knowledge bases are kept in step with, as rows of information_schema. Secrets are masked. */
import { sourceRecord } from '../../catalog/define-source.ts'
import type { CatalogSnapshot } from '../../domain/catalog-snapshot.ts'
import type { SourceKeeping } from '../../domain/ports/sync-ports.ts'
import type { LiveRows, SchemaRow } from './schema-table.ts'

/** Shown in columns of their own. */
const COLUMNS = new Set(
  'id name kind schedule watch remove_vanished created_at updated_at knowledge_base project job_id next_run_at watching watch_note last_run'.split(
    ' ',
  ),
)

export function sourceRows(
  { knowledgeBases }: Pick<CatalogSnapshot, 'knowledgeBases'>,
  sources: Pick<SourceKeeping, 'list' | 'stateOf'>,
): LiveRows {
  const rows = knowledgeBases.flatMap((kb) => {
    return sources.list(kb).map((source): SchemaRow => {
      const { lastRun, jobId, nextRunAt, watching } = sources.stateOf(source)
      const fields = Object.entries(sourceRecord(kb, source, sources))
      const parameters = Object.fromEntries(fields.filter(([name]) => !COLUMNS.has(name)))
      return {
        ID: source.id,
        NAME: source.name,
        PROJECT: kb.projectName,
        KNOWLEDGE_BASE: kb.name,
        KIND: source.kind,
        PARAMETERS: JSON.stringify(parameters),
        SCHEDULE: source.schedule,
        WATCHING: watching,
        NEXT_RUN_AT: nextRunAt,
        LAST_RUN_AT: lastRun?.startedAt ?? null,
        LAST_STATE: lastRun?.state ?? null,
        ADDED: lastRun?.counts.added ?? null,
        CHANGED: lastRun?.counts.changed ?? null,
        UNCHANGED: lastRun?.counts.unchanged ?? null,
        REMOVED: lastRun?.counts.removed ?? null,
        FAILED: lastRun?.counts.failed ?? null,
        ERROR: lastRun?.error ?? null,
        JOB_ID: jobId,
      }
    })
  })
  return { rows }
}
