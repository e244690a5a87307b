import type { ImportFiles } from '../domain/ports/document-ports.ts'
import type { DocumentReader } from '../ingest/readers/document-reader.ts'
import type { JobRunner } from '../jobs/job-runner.ts'
import type { DocumentUses } from '../query/documents/document-uses.ts'
import type { QueryDeps } from '../query/query-deps.ts'
import type { TransferUses } from '../query/transfer/move-knowledge-base.ts'
import { LATER } from './later.ts'

/** Loaded with the first request for documents. */
export function documentUsesOf(queryDeps: QueryDeps, reader: DocumentReader): DocumentUses {
  const uses = async (): Promise<DocumentUses> => {
    const { documentUses } = await LATER.documents()
    return documentUses(() => ({ ...queryDeps, chunker: reader.forRequest() }))
  }
  return {
    list: async (...request) => (await uses()).list(...request),
    chunks: async (...request) => (await uses()).chunks(...request),
    vectors: async (...request) => (await uses()).vectors(...request),
    read: async (...request) => (await uses()).read(...request),
    put: async (...request) => (await uses()).put(...request),
    patch: async (...request) => (await uses()).patch(...request),
    remove: async (...request) => (await uses()).remove(...request),
    removeAll: async (...request) => (await uses()).removeAll(...request),
  }
}

/** The same for knowledge bases as files. */
export function transferUsesOf(
  queryDeps: QueryDeps,
  { reader, jobs, importFiles }: TransferParts,
): TransferUses {
  const transferDeps = () => ({ ...queryDeps, reader: reader.forRequest(), importFiles })
  jobs.handle('import', {
    run: async (work, signal) => {
      return (await LATER.transfers()).runImportJob(work, transferDeps(), signal)
    },
  })
  return {
    export: async (kb, signal) => {
      return (await LATER.transfers()).exportKnowledgeBase(kb, queryDeps, signal)
    },
    import: async (request, signal) => {
      return (await LATER.transfers()).importKnowledgeBase(request, transferDeps(), signal)
    },
    importInBackground: async (request) => {
      const draft = await (await LATER.transfers()).importJobOf(request, importFiles)
      return jobs.start(draft).catch(async (error) => {
        await importFiles.remove(draft.request.file)
        throw error
      })
    },
  }
}

interface TransferParts {
  readonly reader: DocumentReader
  readonly jobs: JobRunner
  readonly importFiles: ImportFiles
}
