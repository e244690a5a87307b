/** Exports a knowledge base to a file, and imports one. */

import { findIn, requireProject } from '../../core/domain/access/catalog-snapshot.ts'
import type { Rights } from '../../core/domain/access/principal.ts'
import type { Job } from '../../core/domain/flow/job.ts'
import {
  type ExportDefinition,
  type KnowledgeBase,
  vectorsText,
} from '../../core/domain/knowledge-base.ts'
import type { ImportFiles } from '../../core/domain/ports/document-ports.ts'
import type { ExportedRows } from '../../core/domain/ports/engine-ports.ts'
import type { JobDraft, JobWork } from '../../core/domain/ports/job-ports.ts'
import type { FileReading, ReadTable } from '../../core/domain/ports/reading-ports.ts'
import { AppError } from '../../core/errors.ts'
import { createKnowledgeBase } from '../definitions/define-knowledge-base.ts'
import {
  exportDefinition,
  fieldsOfExport,
  readExportDefinition,
} from '../definitions/knowledge-base-fields.ts'
import type { QueryDeps } from '../select/query-deps.ts'

interface TransferDeps extends QueryDeps {
  readonly reader: FileReading
}

/** Implements the export and import routes. */
export interface TransferUses {
  export(kb: KnowledgeBase, signal: AbortSignal): Promise<ExportedRows>
  import(request: ImportRequest, signal: AbortSignal): Promise<ImportReport>
  /** Starts an import as a job. When the promise resolves, the job is stored and owns the file. */
  importInBackground(request: ImportRequest): Promise<Job>
}

/** @throws AppError like `KnowledgeBaseFiles.export` */
export async function exportKnowledgeBase(
  kb: KnowledgeBase,
  deps: Pick<QueryDeps, 'transfers' | 'documents'>,
  signal: AbortSignal,
): Promise<ExportedRows> {
  const chunkCount = await deps.documents.chunkCount(kb)
  return deps.transfers.export(kb, exportDefinition(kb, chunkCount), signal)
}

interface ImportRequest {
  readonly projectName: string
  /** The knowledge base to import into. It is created if it does not exist. */
  readonly name: string
  readonly path: string
}

interface ImportReport {
  readonly isCreated: boolean
  readonly documents: number
  readonly chunks: number
}

/** All or none, replacing equal ids. @throws AppError `file_unreadable`, `import_mismatch` */
export async function importKnowledgeBase(
  { projectName, name, path }: ImportRequest,
  deps: TransferDeps,
  signal: AbortSignal,
  onRead: (chunkCount: number) => Promise<void> = async () => {},
): Promise<ImportReport> {
  const project = requireProject(deps.catalog.snapshot(), projectName)
  const source = { path, name: 'export.parquet', contentType: null, url: null } as const
  const options = { format: 'parquet' } as const
  await deps.transfers.checkSeal(path, signal)
  return deps.reader.readFile(
    { ...source, options },
    async ({ tables }) => {
      const table = onlyTable(tables)
      const definition = readExportDefinition(table.note)
      await onRead(definition.chunkCount)
      const known = findIn(deps.catalog.snapshot().knowledgeBases, project, name)
      const fields = fieldsOfExport(definition, name)
      const target = known ?? (await createKnowledgeBase(projectName, fields, deps))
      try {
        refuseOtherVectors(target, definition)
        const stored = await deps.transfers.import(target, { table, definition }, signal)
        return { isCreated: known === undefined, ...stored }
      } catch (error) {
        if (known === undefined) await deps.catalog.dropKnowledgeBase(target)
        throw error
      }
    },
    signal,
  )
}

const NO_RIGHTS: Rights = { read: false, ask: false, namespaces: [] }

interface StoredImport {
  readonly projectName: string
  readonly name: string
  /** The file's name in the folder of files that jobs import. */
  readonly file: string
  /** An import needs no right to read, because it reads nothing that is stored. */
  readonly rights: Rights
}

/** @param files takes ownership of the file */
export async function importJobOf(
  { projectName, name, path }: ImportRequest,
  files: ImportFiles,
): Promise<JobDraft & { readonly request: StoredImport }> {
  const request: StoredImport = {
    projectName,
    name,
    file: await files.keep(path),
    rights: NO_RIGHTS,
  }
  const title = `Import a file into ${name}`
  return { kind: 'import', projectName, knowledgeBase: name, title, request }
}

/** In one transaction, repeated after a crash. If it fails, the file is kept. */
export async function runImportJob(
  work: JobWork,
  deps: TransferDeps & { readonly importFiles: ImportFiles },
  signal: AbortSignal,
): Promise<void> {
  // `importJobOf` wrote this request, so the type is right.
  const { projectName, name, file } = work.request as StoredImport
  const path = await deps.importFiles.pathOf(file)
  const none = { rows: 0, documents: 0, chunks: 0 }
  const onRead = (total: number) => {
    return work.mark({ progress: { ...none, total }, checkpoint: null })
  }
  const { documents, chunks } = await importKnowledgeBase(
    { projectName, name, path },
    deps,
    signal,
    onRead,
  )
  const progress = { rows: chunks, documents, chunks, total: chunks }
  await work.mark({ progress, checkpoint: null })
  await deps.importFiles.remove(file)
}

function onlyTable([table]: readonly ReadTable[]): ReadTable {
  if (table !== undefined) return table
  throw new AppError('file_unreadable', 'The file could not be imported: it holds no rows')
}

/**
 * Refuses vectors of another model, which cannot be compared. @throws AppError `import_mismatch`
 */
function refuseOtherVectors(
  { name, embeddingModel, dimensions }: KnowledgeBase,
  definition: ExportDefinition,
): void {
  const sent = definition.embeddingModel
  const isSameModel =
    sent.provider === embeddingModel.provider && sent.modelName === embeddingModel.modelName
  const isSameLength =
    dimensions === null || definition.dimensions === null || dimensions === definition.dimensions
  if (isSameModel && isSameLength) return
  const found = vectorsText(sent, definition.dimensions)
  const own = vectorsText(embeddingModel, dimensions)
  const how = 'import it under another name, or insert its texts'
  const message = `The file holds vectors of ${found}, and ${name} has those of ${own}; ${how}`
  throw new AppError('import_mismatch', message)
}
