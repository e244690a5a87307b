/** What the first answer after a start does not need: loaded with the first request that does, or a moment later. */
export const LATER = {
  query: () => import('../query/run-query.ts'),
  documents: () => import('../query/documents/document-uses.ts'),
  transfers: () => import('../query/transfer/move-knowledge-base.ts'),
  scheduled: () => import('../query/schedules/run-scheduled.ts'),
  search: () => import('../query/search/run-search.ts'),
  select: () => import('../query/select/run-select.ts'),
  planner: () => import('../query/select/planner.ts'),
  views: () => import('../query/views.ts'),
  insertFiles: () => import('../ingest/insert-files.ts'),
  syncRun: () => import('../ingest/sync/run-source.ts'),
  insertJob: () => import('../ingest/jobs/insert-job.ts'),
  statementJob: () => import('../query/rows/background-insert.ts'),
  preview: () => import('../ingest/preview.ts'),
  chunkWarnings: () => import('../ingest/chunk-warnings.ts'),
  sources: () => import('../sources/open-sources.ts'),
  uploads: () => import('../ingest/upload-files.ts'),
}
