/** A peer: something that holds the set and finds the nearest. All peers are open at once and are asked in turn. */
import type { Keep, VectorSet } from './vector-set.ts'

export interface Peer {
  /** For `--only`. */
  readonly name: string
  readonly label: string
  /** What lies between the question and the search. */
  readonly reach: Reach
  readonly hasFilter: boolean
  /** Each is a row of the table. */
  readonly settings: readonly Setting[]
  /** @throws Error when it cannot run here; the message says why */
  open(places: PeerPlaces): Promise<OpenPeer>
}

export type Reach = 'in process' | 'SQL over a socket' | 'SQL over HTTP' | 'JSON over HTTP'

export interface Setting {
  /** Empty where there is nothing to set. */
  readonly label: string
  /** Breadth of the search: ef of a graph, nprobe of lists; null for none. */
  readonly value: number | null
}

export interface PeerPlaces {
  readonly set: VectorSet
  /** Its own, empty; what it stores counts as its disk. */
  readonly folder: string
}

export interface OpenPeer {
  readonly versions: string
  /** Where other clients reach it; null: nowhere. */
  readonly address?: string | null
  /** Of the process whose memory counts, with its children. */
  readonly pid: number
  /** Inserts the set and builds the index, if any. */
  load(): Promise<void>
  search(request: SearchRequest): Promise<SearchAnswers>
  close(): Promise<void>
}

export interface SearchRequest {
  readonly clients: number
  /** Queries `from`, `from + 1` …, from the first again after the last. */
  readonly from: number
  readonly count: number
  /** No search begins later. */
  readonly durationMs: number
  readonly keep: Keep
  readonly setting: number | null
}

export interface SearchAnswers {
  readonly latenciesMs: readonly number[]
  readonly elapsedMs: number
  /** Row indexes by query, null where time was up. */
  readonly found: readonly (readonly number[] | null)[]
}
