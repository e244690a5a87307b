import type { DataSources } from '../core/domain/ports/source-ports.ts'
import type { Sources } from '../sources/sources.ts'
import { memoryBytesOf } from '../store/duckdb/memory-size.ts'
import { LATER } from './later.ts'
import type { SourceFilesOptions, SourcesOptions } from './open-sources.ts'
import { environmentOfReaders, type Settings } from './settings/settings.ts'

/** The databases behind data sources. Their clients are loaded when somebody asks for one. */
export function dataSourcesOf(options: SourcesOptions): DataSources {
  let opened: Promise<Sources> | undefined
  let ready: Sources | undefined
  const sources = () => {
    opened ??= LATER.sources().then(({ openSources }) => {
      ready = openSources(options)
      return ready
    })
    return opened
  }
  return {
    check: async (...request) => (await sources()).check(...request),
    tables: async (...request) => (await sources()).tables(...request),
    describeTables: async (...request) => (await sources()).describeTables(...request),
    columns: async (...request) => (await sources()).columns(...request),
    describe: async (...request) => (await sources()).describe(...request),
    read: async (...request) => (await sources()).read(...request),
    stage: async (...request) => (await sources()).stage(...request),
    forgetTables: (source) => ready?.forgetTables(source),
    forget: async (source) => (await opened)?.forget(source),
    close: async () => (await opened)?.close(),
  }
}

export function sourceFilesOf(
  settings: Pick<Settings, 'sourcesDirectory' | 'readingMemory'>,
): SourceFilesOptions {
  return {
    folder: settings.sourcesDirectory ?? null,
    memoryBytes: memoryBytesOf(settings.readingMemory),
    environment: environmentOfReaders(),
  }
}
