import type { SourceKeeping } from '../../src/core/domain/ports/job-ports.ts'

/** For tests without sync. */
export const NO_SOURCES: SourceKeeping = {
  list: () => [],
  create: () => Promise.reject(new Error('no sources')),
  change: () => Promise.reject(new Error('no sources')),
  drop: () => Promise.reject(new Error('no sources')),
  run: () => Promise.reject(new Error('no sources')),
  runs: () => Promise.reject(new Error('no sources')),
  stateOf: () => {
    throw new Error('no sources')
  },
}
