/** The chunks that hold the phrases of a searched text: found before its statement runs, the same for memory and the database. */
import { holdsPhrase, type Phrase, phrasesOf } from '../../analysis/phrases.ts'
import { chunkTables } from '../../domain/chunk-tables.ts'
import type { PhraseHits } from '../../domain/hybrid-search.ts'
import { BM25 } from '../../domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { TimeSlice } from '../../runtime/scheduling.ts'
import { type RunContext, runLimits } from '../query-deps.ts'

/** Texts that are read for the phrases of one search. */
const TEXTS_MAX = 1_000
/** Of the main thread, before others have their turn. */
const SLICE_MS = 5

/**
 * A phrase counts as one more term that a chunk of mean length holds once. No place of a word is stored: the chunks that
 * hold all terms of a phrase are read, those that hold them most often first, and their texts are compared.
 * @returns null without a phrase
 * @throws AppError those of `SqlEngine.run`
 */
export async function findPhrases(
  text: string,
  kb: KnowledgeBase,
  context: RunContext,
): Promise<PhraseHits | null> {
  const { phrases, isWhole } = phrasesOf(text, kb.language)
  if (phrases.length === 0) return null
  const found = phrases.map((phrase) => holdersOf(phrase, kb, context, phrases.length))
  const bonuses = new Map<bigint, number>()
  const counts = new Map<bigint, number>()
  let bound = 0
  for (const { keys, chunkCount } of await Promise.all(found)) {
    const bonus = Math.log(1 + (chunkCount - keys.length + 0.5) / (keys.length + 0.5))
    bound += bonus * (BM25.k1 + 1)
    for (const key of keys) {
      bonuses.set(key, (bonuses.get(key) ?? 0) + bonus)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  const holdsAll = (key: bigint) => counts.get(key) === phrases.length
  const kept = [...bonuses].filter(([key]) => !isWhole || holdsAll(key))
  kept.sort(([one], [other]) => Number(one - other))
  return {
    keys: kept.map(([key]) => key),
    bonuses: kept.map(([, bonus]) => bonus),
    bound,
    isFilter: isWhole,
  }
}

async function holdersOf(
  phrase: Phrase,
  kb: KnowledgeBase,
  { deps, signal }: RunContext,
  phraseCount: number,
) {
  const { chunks, postings, recentPostings, termCounts } = chunkTables(kb)
  const terms = [...new Set(phrase.terms)]
  const sql = `SELECT c.chunk_key::VARCHAR, c.chunk_content, (SELECT count(*) FROM ${termCounts}) AS chunk_count
    FROM (SELECT chunk_key, min(frequency) AS least FROM
        (SELECT * FROM ${postings} UNION ALL SELECT * FROM ${recentPostings})
      WHERE term IN ($terms) GROUP BY chunk_key HAVING count(*) = ${terms.length}
      ORDER BY least DESC, chunk_key LIMIT ${Math.floor(TEXTS_MAX / phraseCount)}) AS h
    JOIN ${chunks} AS c USING (chunk_key)`
  const select = { sql, values: { terms } }
  const { batches } = await deps.engine.run(select, runLimits(deps), signal)
  const slice = new TimeSlice(SLICE_MS)
  const keys: bigint[] = []
  let chunkCount = 0
  for await (const rows of batches) {
    for (const [key, content, count] of rows) {
      chunkCount = Number(count)
      if (holdsPhrase(String(content), phrase, kb.language)) keys.push(BigInt(String(key)))
      await slice.yieldIfSpent(signal)
    }
  }
  return { keys, chunkCount }
}
