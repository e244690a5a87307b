import type { KnowledgeBaseStorages } from '../../src/core/domain/ports/storage-ports.ts'

const notExpected = () => Promise.reject(new Error('not expected'))

/** Every knowledge base is stored here. */
export const NO_STORAGES: KnowledgeBaseStorages = {
  create: notExpected,
  definitionOf: notExpected,
  drop: async () => {},
  remove: notExpected,
  fresh: async (kb) => kb,
  redefine: async () => {},
  index: async () => {},
}
