import type { Reembeddings } from '../../src/core/domain/ports/store-ports.ts'

/** Nothing is done in the background. */
export const NO_REEMBEDDINGS: Reembeddings = { wake: () => {}, progressOf: () => null }
