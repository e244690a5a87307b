import type { KeywordHits } from '../../domain/ports.ts'
import type { QueryDeps } from '../query-deps.ts'

/** The stages of a search, in milliseconds. */
export interface StageTimes {
  /** From text to a statement: only for one that was not seen before. */
  plan: number
  embed: number
  /** Finding the nearest chunks, and those with the best words, in memory. */
  candidates: number
  rerank: number
  /** What the database did: reading the rows, and measuring and keywords where memory had no answer. */
  rows: number
}

export interface TimedDeps {
  readonly deps: QueryDeps
  readonly times: StageTimes
  /** Whether the vectors in memory gave the chunks. */
  wasFromMemory(): boolean
}

/** The same dependencies with a clock around each. */
export function timedDeps(deps: QueryDeps, nowMs: () => number): TimedDeps {
  const times: StageTimes = { plan: 0, embed: 0, candidates: 0, rerank: 0, rows: 0 }
  let isFromMemory = false
  const timed = async <T>(stage: keyof StageTimes, work: () => Promise<T>): Promise<T> => {
    const start = nowMs()
    try {
      return await work()
    } finally {
      times[stage] += nowMs() - start
    }
  }
  const { embedders, rerankers, engine, nearest } = deps
  const measured: QueryDeps = {
    ...deps,
    embedders: {
      ...embedders,
      embedder: (ref) => {
        const embedder = embedders.embedder(ref)
        return {
          embed: (texts, signal) => timed('embed', () => embedder.embed(texts, signal)),
        }
      },
    },
    rerankers: {
      ...rerankers,
      reranker: (ref) => {
        const reranker = rerankers.reranker(ref)
        return {
          rerank: (text, passages, signal) => {
            return timed('rerank', () => reranker.rerank(text, passages, signal))
          },
        }
      },
    },
    nearest: {
      nearest: async (search, signal) => {
        const found = await timed('candidates', () => nearest.nearest(search, signal))
        if (found !== null) isFromMemory = true
        if (found?.words === undefined) return found
        const { words } = found
        const measured: KeywordHits['measured'] = (keys, of) => {
          return timed('candidates', () => words.measured(keys, of))
        }
        return { ...found, words: { ...words, measured } }
      },
      access: (kb) => nearest.access(kb),
    },
    engine: {
      parse: (sql) => timed('plan', () => engine.parse(sql)),
      print: (tree) => timed('plan', () => engine.print(tree)),
      run: (statement, limits, signal) =>
        timed('rows', () => engine.run(statement, limits, signal)),
      exportParquet: (select, limits, signal) => engine.exportParquet(select, limits, signal),
    },
  }
  return { deps: measured, times, wasFromMemory: () => isFromMemory }
}
