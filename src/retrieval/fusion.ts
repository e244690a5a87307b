/**
 * Ranks chunks with the fusions `scaled` and `rrf`, like `sql/subquery/hybrid-rows.ts`. The
 * operations and their order are the same, so a search in memory and a statement give equal
 * relevances.
 */
import {
  FEEDBACK,
  type Fusion,
  type KeywordHit,
  PART_CHUNKS,
  RRF_K,
} from '../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import { BUILTIN_PROVIDER } from '../core/domain/model-ref.ts'
import type { KeywordHits, NearestChunk, NearestFound } from '../core/domain/ports/search-ports.ts'
import { isForeignToEnglish } from '../core/text/learned-language.ts'
import { isMostlyLatin } from '../core/text/words.ts'

interface FusedHit {
  readonly key: bigint
  /** From 0 to 1. */
  readonly relevance: number
  /** Null if found only by keywords. */
  readonly distance: number | null
}

export interface FusionWeights {
  /** The weight of the vectors, from 0 to 1. */
  readonly alpha: number
  readonly fusion: Fusion
}

/** @param found.neighbours nearest first, or more @param found.keywordHits exactly, best first */
export function fusedHits(
  given: {
    readonly neighbours: readonly NearestChunk[]
    readonly keywordHits: readonly KeywordHit[]
  },
  { alpha, fusion }: FusionWeights,
): readonly FusedHit[] {
  const { neighbours, keywordHits } = given
  const byVector = vectorParts(neighbours, fusion)
  const byKeywords = keywordParts(keywordHits, fusion)
  const distances = new Map<bigint, number>()
  for (const { key, distance } of neighbours) distances.set(key, distance)
  const fused = [...new Set([...distances.keys(), ...byKeywords.keys()])].map((key) => {
    const sum = alpha * (byVector.get(key) ?? 0) + (1 - alpha) * (byKeywords.get(key) ?? 0)
    return { key, relevance: Math.min(1, sum), distance: distances.get(key) ?? null }
  })
  return fused.sort((one, other) => other.relevance - one.relevance)
}

type Parts = ReadonlyMap<bigint, number>

function vectorParts(neighbours: readonly NearestChunk[], fusion: Fusion): Parts {
  const last = Math.min(PART_CHUNKS, neighbours.length) - 1
  const farthest = neighbours[last]?.distance ?? 0
  const counted = neighbours.filter(({ distance }) => distance <= farthest)
  const distances = counted.map(({ key, distance }) => [key, distance] as const)
  return partsOf(distances, farthest, fusion)
}

/** With fewer than `PART_CHUNKS` hits, the scale ends at 0, the score of chunks without a term. */
function keywordParts(keywordHits: readonly KeywordHit[], fusion: Fusion): Parts {
  const least = keywordHits.length < PART_CHUNKS ? 0 : (keywordHits.at(-1)?.score ?? 0)
  const scores = keywordHits.map(({ key, score }) => [key, score] as const)
  return partsOf(scores, least, fusion)
}

/** Equal values share the best of their ranks. @param ranked best first @param last gets 0 */
function partsOf(
  ranked: readonly (readonly [key: bigint, value: number])[],
  last: number,
  fusion: Fusion,
): Parts {
  const [, best = 0] = ranked[0] ?? []
  const parts = new Map<bigint, number>()
  let rank = 1
  for (const [index, [key, value]] of ranked.entries()) {
    if (value !== ranked[index - 1]?.[1]) rank = index + 1
    const scaled = value === best ? 1 : (value - last) / (best - last)
    parts.set(key, fusion === 'rrf' ? (RRF_K + 1) / (RRF_K + rank) : scaled)
  }
  return parts
}

export interface RankedHit {
  readonly key: bigint
  readonly distance: number
  readonly relevance: number
}

/** By relevance, then distance, with all ties for the last. Without a distance, left out. */
export async function exactFusion(
  fused: readonly FusedHit[],
  given: {
    readonly firstCount: number | null
    distancesOf(keys: readonly bigint[]): Promise<readonly NearestChunk[]>
  },
): Promise<readonly RankedHit[]> {
  const { firstCount, distancesOf } = given
  const least = firstCount === null ? 0 : (fused[firstCount - 1]?.relevance ?? 0)
  const first = fused.filter(({ relevance }) => relevance >= least)
  const unmeasured = first.filter(({ distance }) => distance === null).map(({ key }) => key)
  const measured = unmeasured.length === 0 ? [] : await distancesOf(unmeasured)
  const distances = new Map(measured.map(({ key, distance }) => [key, distance]))
  const all: RankedHit[] = []
  for (const { key, relevance, distance: known } of first) {
    const distance = known ?? distances.get(key)
    if (distance !== undefined) all.push({ key, relevance, distance })
  }
  return firstOf(all, firstCount ?? all.length)
}

function compareFused(one: RankedHit, other: RankedHit): number {
  return other.relevance - one.relevance || one.distance - other.distance
}

const ALPHA = 0.5

/** The model does not know the script: its vector says little; for Arabic, nothing. */
const FOREIGN_SCRIPT_ALPHA = 0.05
const ARABIC_ALPHA = 0
const ARABIC = /\p{Script=Arabic}/u

/** The model knows names and words that its language and this one share. */
const FOREIGN_LANGUAGE_ALPHA = 0.2

/** Keywords count more if the built-in model does not know the language. @param text or null */
export function defaultAlpha(
  text: string | null,
  { embeddingModel, language }: Pick<KnowledgeBase, 'embeddingModel' | 'language'>,
): number {
  if (text === null || embeddingModel.provider !== BUILTIN_PROVIDER) return ALPHA
  if (!isMostlyLatin(text)) return ARABIC.test(text) ? ARABIC_ALPHA : FOREIGN_SCRIPT_ALPHA
  const isForeignBase = language !== 'english' && language !== 'none'
  return isForeignBase || isForeignToEnglish(text) ? FOREIGN_LANGUAGE_ALPHA : ALPHA
}

/** Whether relevance feedback may move a text's vector: the model must know both languages. */
export function canBeFedBack(
  text: string | null,
  kb: Pick<KnowledgeBase, 'embeddingModel' | 'language'>,
): boolean {
  return text !== null && defaultAlpha(text, kb) === ALPHA
}

// Computes the same convex combination for the best chunks as `sql/subquery/hybrid-rows.ts` does
// for all: alpha · max(0, cosine) + (1 - alpha) · BM25 / its bound. Each part is scaled by its
// possible range instead of by the best hit, so that a relevance means the same for every text and
// filter. Chunks are examined from the front of both orders until no other can be better, so the
// result is exact: R. Fagin, A. Lotem, M. Naor, "Optimal aggregation algorithms for middleware",
// 2001. The scaling follows S. Bruch, S. Gai, A. Ingber, "An Analysis of Fusion Functions for
// Hybrid Retrieval", 2023, with 0 as the lowest meaningful cosine.

interface ConvexSearch {
  /** The weight of the vectors, from 0 to 1. */
  readonly alpha: number
  readonly firstCount: number
  /** How many neighbours were requested. If there are fewer, they are all there are. */
  readonly nearestCount: number
  /** The nearest chunks, possibly more than needed; empty if the keyword hits are enough. */
  readonly neighbours: readonly NearestChunk[]
  readonly hits: KeywordHits
  /** How many keyword hits were requested. */
  readonly hitCount: number
  /** All chunks as relevant as the last; by default only those also at the same distance. */
  readonly isOfRelevanceOnly?: boolean
}

/** With all ties for the last place. @returns null for too many keyword hits */
export async function bestConvex(
  search: ConvexSearch,
  signal: AbortSignal,
): Promise<readonly RankedHit[] | null> {
  const { hits, firstCount, neighbours } = search
  const ranked = new RankedHits(search)
  const scores = hits.scoresOf(neighbours.map(({ key }) => key))
  for (const [index, chunk] of neighbours.entries()) ranked.add(chunk, scores[index] ?? 0)
  const { farthest } = ranked
  for (let best = hits.best, count = search.hitCount; ; count *= DEEPER) {
    const least = ranked.least()
    const open = best.filter(({ key, score }) => {
      return !ranked.has(key) && ranked.relevanceOf(farthest, score) >= least
    })
    const scoreOf = new Map(open.map(({ key, score }) => [key, score]))
    const measured = open.length === 0 ? [] : await hits.distancesOf([...scoreOf.keys()], signal)
    for (const chunk of measured) ranked.add(chunk, scoreOf.get(chunk.key) ?? 0)
    const last = best.at(-1)?.score ?? 0
    if (best.length < count || ranked.relevanceOf(farthest, last) < ranked.least()) break
    const relevance = { alpha: search.alpha, least: ranked.least() }
    const deeper = await hits.bestOf(count * DEEPER, signal, relevance)
    if (deeper === null) return null
    best = deeper
  }
  return search.isOfRelevanceOnly === true ? ranked.above(ranked.least()) : ranked.first(firstCount)
}

/** If the keyword hits so far may not be enough, examine this many times as many. */
const DEEPER = 4

/** The chunks scored so far. */
class RankedHits {
  readonly #search: ConvexSearch
  readonly #hits = new Map<bigint, RankedHit>()
  /** All chunks other than the neighbours are at least this far away. */
  readonly farthest: number

  constructor(search: ConvexSearch) {
    this.#search = search
    const { neighbours, nearestCount } = search
    const distances = neighbours.map(({ distance }) => distance).sort((one, other) => one - other)
    this.farthest = distances[nearestCount - 1] ?? distances.at(-1) ?? 0
  }

  relevanceOf(distance: number, score: number): number {
    const { alpha, hits } = this.#search
    const part = score === 0 ? 0 : score / hits.scoreBound
    return Math.min(1, alpha * Math.max(0, 1 - distance) + (1 - alpha) * part)
  }

  has(key: bigint): boolean {
    return this.#hits.has(key)
  }

  add({ key, distance }: NearestChunk, score: number): void {
    this.#hits.set(key, { key, distance, relevance: this.relevanceOf(distance, score) })
  }

  /** The relevance that a chunk needs to be among the results. */
  least(): number {
    const { firstCount } = this.#search
    if (this.#hits.size < firstCount) return 0
    const relevances = Float64Array.from(this.#hits.values(), ({ relevance }) => relevance).sort()
    return relevances[relevances.length - firstCount] ?? 0
  }

  above(least: number): readonly RankedHit[] {
    return [...this.#hits.values()].filter(({ relevance }) => relevance >= least)
  }

  first(count: number): readonly RankedHit[] {
    return firstOf([...this.#hits.values()], count)
  }
}

/** Returns the best chunks first, with all ties for the last place. */
export function firstOf(hits: readonly RankedHit[], count: number): readonly RankedHit[] {
  const all = hits.toSorted(compareFused)
  const last = all[count - 1]
  return last === undefined ? all : all.filter((one) => compareFused(one, last) <= 0)
}

// Relevance feedback (core/domain/hybrid-search.ts), computed with the same operations in the same
// order as in `sql/subquery/hybrid-rows.ts`.

export interface FedBackSearch extends ConvexSearch {
  readonly queryVector: Float32Array
  /** Whether to move the vector. */
  readonly isFedBack: boolean
}

/** `bestConvex` with the moved vector; distances to the text. @returns null like `bestConvex` */
export async function bestFedBack(
  search: FedBackSearch,
  feedback: NearestFound['feedback'],
  signal: AbortSignal,
): Promise<readonly RankedHit[] | null> {
  const { hits: keywordHits, isFedBack, queryVector } = search
  if (!isFedBack || feedback === undefined) return bestConvex(search, signal)
  const first = await bestConvex({ ...search, firstCount: FEEDBACK.firstCount }, signal)
  if (first === null) return null
  const keys = first
    .toSorted((one, other) => compareFused(one, other) || (one.key < other.key ? -1 : 1))
    .slice(0, FEEDBACK.firstCount)
    .map(({ key }) => key)
  const scores = keywordHits.scoresOf(keys)
  const worded = keys.filter((_, index) => scores[index] !== 0)
  if (worded.length === 0) return bestConvex(search, signal)
  const vectors = await feedback.vectorsOf(worded, signal)
  const movedVector = moved(
    queryVector,
    worded.flatMap((key) => vectors.get(key) ?? []),
  )
  const found = await feedback.searchBy(movedVector, signal)
  if (found === null) return null
  const { neighbours, keywordHits: hits } = found
  // Ties in relevance are sorted by distance to the text. The nearest of them are among the
  // neighbours.
  const ranked = await bestConvex({ ...search, neighbours, hits, isOfRelevanceOnly: true }, signal)
  if (ranked === null) return null
  const relevances = new Map(ranked.map(({ key, relevance }) => [key, relevance]))
  const measured = await keywordHits.distancesOf([...relevances.keys()], signal)
  const all = measured.map((chunk) => ({ ...chunk, relevance: relevances.get(chunk.key) ?? 0 }))
  return firstOf(all, search.firstCount)
}

function moved(vector: Float32Array, towards: readonly Float32Array[]): Float32Array {
  const share = FEEDBACK.weight / FEEDBACK.firstCount
  const totals = Float64Array.from(vector, (part, dimension) => {
    return part + share * towards.reduce((sum, one) => sum + (one[dimension] ?? 0), 0)
  })
  const length = Math.sqrt(totals.reduce((sum, total) => sum + total * total, 0))
  return Float32Array.from(totals, (total) => total / length)
}
