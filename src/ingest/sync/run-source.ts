import type { SyncRun, SyncSource } from '../../core/domain/flow/sync-source.ts'
import { notFound } from '../../core/errors.ts'
import { columnMappingOf } from '../sources/document-of-row.ts'
import { type FolderDeps, readFolder } from './folder-source.ts'
import { CURSOR_ITEM, readQuery } from './query-source.ts'
import { readSite, readSitemap } from './site-source.ts'
import { type SyncDeps, type SyncProgressReport, SyncWork } from './sync-run.ts'
import type { SyncReach } from './sync-sink.ts'
import { readAddress, type WebDeps } from './web-source.ts'

type SourceDeps = SyncDeps & FolderDeps & WebDeps

export interface SourceRunRequest {
  readonly source: SyncSource
  readonly run: SyncRun
  /** Whether to ignore what is remembered and read everything again. */
  readonly isFull: boolean
  readonly report: (progress: SyncProgressReport) => Promise<void>
  /** Called as chunks are embedded, before they are stored. */
  readonly onEmbedded: (chunkCount: number) => void
}

/** The counts of a run that was completed or interrupted. */
export interface EndedRun {
  readonly run: SyncRun
  readonly error: unknown
}

export async function runSource(
  { source, run, isFull, ...reports }: SourceRunRequest,
  deps: SourceDeps,
  signal: AbortSignal,
): Promise<EndedRun> {
  const { syncStore } = deps
  const kb = deps.snapshot().knowledgeBases.find(({ id }) => id === source.knowledgeBaseId)
  if (kb === undefined) throw notFound('knowledge_base', String(source.knowledgeBaseId))
  // Fails before reading anything if the model cannot be called.
  deps.embedders.embedder(kb.embeddingModel)
  const known = await syncStore.items(source)
  const missing = await syncStore.itemsWithout(source, kb)
  for (const [name, item] of known) {
    const isOwn = item.runId === run.id
    if (!missing.has(name) && (!isFull || isOwn)) continue
    known.set(name, { ...item, hash: item.hash === null ? null : '', stamp: null })
  }
  const work = new SyncWork({ source, run, known, ...reports }, deps, signal)
  const { projectName } = kb
  const task = { source, known, projectName, mapping: columnMappingOf(kb), sink: work }
  try {
    const read = (): Promise<SyncReach> => {
      switch (source.kind) {
        case 'folder':
          return readFolder(task, deps, signal)
        case 'url':
          return readAddress(task, deps, signal)
        case 'sitemap':
          return readSitemap(task, deps, signal)
        case 'site':
          return readSite(task, kb, { ...deps, reader: deps.reader() }, signal)
        case 'query':
        case 'table':
          return readQuery(task, kb, deps, signal)
      }
    }
    const reach = await read()
    await work.finish(reach)
    if (reach.cursor !== undefined && reach.cursor !== null) {
      const cursor = { item: CURSOR_ITEM, documentIds: [], hash: null, failure: null }
      const stamp = String(reach.cursor)
      const remembered = { ...cursor, stamp, runId: run.id, outcome: 'changed' as const }
      await syncStore.remember(source, [remembered])
    }
    return { run: work.run, error: null }
  } catch (error) {
    return { run: work.run, error }
  }
}
