import type { Rights } from '../core/domain/access/rights.ts'
import { addressPolicy } from '../core/runtime/address-policy.ts'
import { internet } from '../core/runtime/pinned-fetch.ts'
import { DAY_MS } from '../core/time.ts'
import { INGEST_LIMITS } from '../ingest/ingest-limits.ts'
import type { InsertFilesDeps } from '../ingest/pipeline/insert-files.ts'
import type { UploadDeps } from '../ingest/pipeline/upload-files.ts'
import type { DocumentReader } from '../ingest/readers/document-reader.ts'
import { guardedFetch } from '../ingest/sources/guarded-fetch.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import type { Store } from '../store/store.ts'
import { LATER } from './later.ts'
import type { Settings } from './settings/settings.ts'

interface InsertParts {
  readonly settings: Settings
  readonly store: Store
  readonly version: string
}

/** The rows of an insert's query are read while others are embedded, which may take long. */
const INSERT_READING_MS = DAY_MS

export function insertDepsOf(
  options: InsertParts,
  queryDepsOf: (rights: Rights | null) => QueryDeps,
  reader: DocumentReader,
): InsertFilesDeps & UploadDeps {
  const { settings, store } = options
  const downloads = downloadsOf(options)
  const queryDeps = queryDepsOf(null)
  return {
    snapshot: () => store.catalog.snapshot(),
    chunks: store.chunks,
    inserts: queryDeps.inserts,
    embedders: queryDeps.embedders,
    chatModels: queryDeps.chatModels,
    files: store.files,
    tables: store.files,
    select: async (sql, { projectName: database, rights }, signal) => {
      return (await LATER.select()).runSelect(
        { sql, database, params: {} },
        { ...queryDepsOf(rights), readingMs: INSERT_READING_MS },
        signal,
      )
    },
    pages: downloads,
    downloads,
    reader,
    chunker: reader,
    crawlPagesMax: settings.crawlPagesMax,
    keepCrawlWarnings: (kb, warnings) => store.catalog.keepCrawlWarnings(kb, warnings),
  }
}

function downloadsOf({ settings, version }: InsertParts) {
  return guardedFetch({
    policy: addressPolicy({ setting: 'EIDER_CRAWL_ALLOW', entries: settings.crawlAllow }),
    userAgent: `Eider/${version} (+crawler)`,
    network: internet,
    pageMs: INGEST_LIMITS.pageMs,
  })
}
