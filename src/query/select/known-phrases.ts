import { LruMap } from '../../core/runtime/lru-map.ts'

const KNOWN_BYTES_MAX = 16 * 1024 ** 2

/** What is known of one phrase in one knowledge base. */
interface KnownPhrase {
  readonly holders: Holders
  /** Of the state for which the holders were found. */
  readonly stateNumber: number
  /** Of each text that was read: a chunk's text never changes under its key. */
  readonly verdicts: ReadonlyMap<bigint, Verdict>
  readonly bytes: number
}

export interface Verdict {
  readonly isHeld: boolean
  readonly charCount: number
}

export interface Holders {
  readonly keys: readonly bigint[]
  /** Of the knowledge base. */
  readonly chunkCount: number
}

/** The phrases that were searched for last. */
export class KnownPhrases extends LruMap<string, KnownPhrase> {
  constructor() {
    super({ sizeMax: KNOWN_BYTES_MAX, sizeOf: ({ bytes }) => bytes })
  }
}
