/**
 * Code that the first answer does not need. It is loaded by the first request that needs it, or
 * shortly after startup.
 */
export const LATER = {
  query: () => import('../query/run/run-query.ts'),
  documents: () => import('../query/documents/document-changes.ts'),
  maps: () => import('../retrieval/map/computed-maps.ts'),
  mapPoints: () => import('../query/documents/map-points.ts'),
  sqlFunctions: () => import('../query/run/sql-functions.ts'),
  transfers: () => import('../query/documents/move-knowledge-base.ts'),
  scheduled: () => import('../query/run/run-scheduled.ts'),
  search: () => import('../query/search/run-search.ts'),
  answerability: () => import('../models/builtin/chat/unit-ranking.ts'),
  select: () => import('../query/select/run-select.ts'),
  planner: () => import('../query/select/planner.ts'),
  views: () => import('../query/select/views.ts'),
  insertFiles: () => import('../ingest/pipeline/insert-files.ts'),
  syncRun: () => import('../ingest/sync/run-source.ts'),
  attachJob: () => import('../ingest/pipeline/attach-job.ts'),
  insertJob: () => import('../ingest/pipeline/insert.ts'),
  statementJob: () => import('../query/rows/background-insert.ts'),
  rechunkJob: () => import('../query/documents/rechunk-job.ts'),
  moveJob: () => import('../query/documents/move-job.ts'),
  evaluationJob: () => import('../query/evaluate/evaluate-agent.ts'),
  preview: () => import('../ingest/pipeline/preview.ts'),
  sources: () => import('./open-sources.ts'),
  uploads: () => import('../ingest/pipeline/upload-files.ts'),
}
