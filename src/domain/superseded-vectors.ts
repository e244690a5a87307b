import { AppError } from '../errors.ts'
import type { KnowledgeBase } from './knowledge-base.ts'

const ATTEMPTS_MAX = 3

/** A write was refused, as another embedding model has taken over since its vectors were made. */
export class SupersededVectors extends AppError {
  /** As it is now. */
  readonly knowledgeBase: KnowledgeBase

  constructor(knowledgeBase: KnowledgeBase) {
    const what = `Another embedding model has taken over ${knowledgeBase.name} meanwhile`
    super('insert_failed', `${what}: nothing was stored, write again`)
    this.knowledgeBase = knowledgeBase
  }
}

/** Embeds and writes; once more with the model that has taken over where one did so in between. */
export async function withModelInForce<T>(
  kb: KnowledgeBase,
  embedAndWrite: (kb: KnowledgeBase) => Promise<T>,
): Promise<T> {
  let inForce = kb
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await embedAndWrite(inForce)
    } catch (error) {
      if (!(error instanceof SupersededVectors) || attempt === ATTEMPTS_MAX) throw error
      inForce = error.knowledgeBase
    }
  }
}
