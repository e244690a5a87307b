/**
 * A peer stores the set and finds the nearest vectors. All peers are open at once and are queried
 * in turn.
 */
import type { Keep, VectorSet } from './vector-set.ts'

export interface Peer {
  /** The name for `--only`. */
  readonly name: string
  readonly label: string
  /** How a request reaches the search. */
  readonly reach: Reach
  readonly hasFilter: boolean
  /** Each setting is a row in the table. */
  readonly settings: readonly Setting[]
  /** @throws Error with the reason if it cannot run here */
  open(places: PeerPlaces): Promise<OpenPeer>
}

export type Reach = 'in process' | 'SQL over a socket' | 'SQL over HTTP' | 'JSON over HTTP'

export interface Setting {
  /** Empty if it has no setting. */
  readonly label: string
  /** The breadth of the search: `ef` for a graph, `nprobe` for lists, or null for none. */
  readonly value: number | null
}

export interface PeerPlaces {
  readonly set: VectorSet
  /** An empty folder of its own, whose content counts as its disk space. */
  readonly folder: string
}

export interface OpenPeer {
  readonly versions: string
  /** The address for other clients, or null if it has none. */
  readonly address?: string | null
  /** The process whose memory counts, with its children. */
  readonly pid: number
  /** Inserts the set and builds the index, if any. */
  load(): Promise<void>
  search(request: SearchRequest): Promise<SearchAnswers>
  close(): Promise<void>
}

export interface SearchRequest {
  readonly clients: number
  /** Runs the queries `from`, `from + 1`, …, and starts again after the last. */
  readonly from: number
  readonly count: number
  /** No search starts later than this. */
  readonly durationMs: number
  readonly keep: Keep
  readonly setting: number | null
}

export interface SearchAnswers {
  readonly latenciesMs: readonly number[]
  readonly elapsedMs: number
  /** The row indexes for each query, or null if time was up. */
  readonly found: readonly (readonly number[] | null)[]
}
