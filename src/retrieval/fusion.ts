/**
 * What `sql/subquery/hybrid-rows.ts` computes by `scaled` and `rrf`, over the chunks that have a part in it: with the same
 * operations on numbers, in the same order, so that a search in memory and a statement give the same relevances.
 */

import { type Fusion, type KeywordHit, PART_CHUNKS, RRF_K } from '../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import { BUILTIN_PROVIDER } from '../core/domain/model-ref.ts'
import type { NearestChunk } from '../core/domain/ports/search-ports.ts'
import { isForeignToEnglish } from '../core/text/foreign-words.ts'
import { isMostlyLatin } from '../core/text/words.ts'

export interface FusedHit {
  readonly key: bigint
  /** 0 to 1. */
  readonly relevance: number
  /** null: it was found by its words alone. */
  readonly distance: number | null
}

export interface FusionWeights {
  /** The weight of the vectors, 0 to 1. */
  readonly alpha: number
  readonly fusion: Fusion
}

/**
 * All chunks that were found, the most relevant first.
 * @param found.neighbours the nearest first: at least those that have a part
 * @param found.keywordHits the best first: exactly those that have a part
 */
export function fusedHits(
  {
    neighbours,
    keywordHits,
  }: {
    readonly neighbours: readonly NearestChunk[]
    readonly keywordHits: readonly KeywordHit[]
  },
  { alpha, fusion }: FusionWeights,
): readonly FusedHit[] {
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
  const nearest = neighbours[0]?.distance ?? 0
  const last = Math.min(PART_CHUNKS, neighbours.length) - 1
  const farthest = neighbours[last]?.distance ?? 0
  const counted = neighbours.filter(({ distance }) => distance <= farthest)
  const ranks = rrfParts(counted.map(({ distance }) => distance))
  const parts = new Map<bigint, number>()
  for (const [index, { key, distance }] of counted.entries()) {
    const scaled = distance === nearest ? 1 : (farthest - distance) / (farthest - nearest)
    parts.set(key, fusion === 'rrf' ? (ranks[index] ?? 0) : scaled)
  }
  return parts
}

/** While fewer chunks than count have a term, the scale ends at those without one. */
function keywordParts(keywordHits: readonly KeywordHit[], fusion: Fusion): Parts {
  const best = keywordHits[0]?.score ?? 0
  const least = keywordHits.length < PART_CHUNKS ? 0 : (keywordHits.at(-1)?.score ?? 0)
  const ranks = rrfParts(keywordHits.map(({ score }) => score))
  const parts = new Map<bigint, number>()
  for (const [index, { key, score }] of keywordHits.entries()) {
    const scaled = score === best ? 1 : (score - least) / (best - least)
    parts.set(key, fusion === 'rrf' ? (ranks[index] ?? 0) : scaled)
  }
  return parts
}

/** Equal values share the first of their ranks. */
function rrfParts(ranked: readonly number[]): readonly number[] {
  let rank = 1
  return ranked.map((value, index) => {
    if (index > 0 && value !== ranked[index - 1]) rank = index + 1
    return (RRF_K + 1) / (RRF_K + rank)
  })
}

export interface RankedHit {
  readonly key: bigint
  readonly distance: number
  readonly relevance: number
}

/**
 * The first chunks of an order by relevance, then by distance, and those that are equal to the last of them.
 * @param fused the most relevant first
 * @param how.firstCount null: all of them
 * @param how.distancesOf gives the distances that are missing; a chunk without one is left out
 */
export async function exactFusion(
  fused: readonly FusedHit[],
  {
    firstCount,
    distancesOf,
  }: {
    readonly firstCount: number | null
    distancesOf(keys: readonly bigint[]): Promise<readonly NearestChunk[]>
  },
): Promise<readonly RankedHit[]> {
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
  all.sort(compareFused)
  const last = firstCount === null ? undefined : all[firstCount - 1]
  return last === undefined ? all : all.filter((one) => compareFused(one, last) <= 0)
}

export function compareFused(one: RankedHit, other: RankedHit): number {
  return other.relevance - one.relevance || one.distance - other.distance
}

const ALPHA = 0.5

/** For a text in a script that the embedding model was not made for: its vector says little. */
const FOREIGN_SCRIPT_ALPHA = 0.05

/** For a text in its script but in another language: the model still understands names and shared words. */
const FOREIGN_LANGUAGE_ALPHA = 0.2

/**
 * The weight of the vectors where nothing sets one. The built-in model is English: in other languages keywords count
 * more. Other models are taken to know every language.
 * @param text null: only the vector is known
 */
export function defaultAlpha(
  text: string | null,
  { embeddingModel, language }: Pick<KnowledgeBase, 'embeddingModel' | 'language'>,
): number {
  if (text === null || embeddingModel.provider !== BUILTIN_PROVIDER) return ALPHA
  if (!isMostlyLatin(text)) return FOREIGN_SCRIPT_ALPHA
  const isForeignBase = language !== 'english' && language !== 'none'
  return isForeignBase || isForeignToEnglish(text) ? FOREIGN_LANGUAGE_ALPHA : ALPHA
}

/** Whether the vector of a text can be moved towards the first chunks: the model reads the text and the knowledge base. */
export function canBeFedBack(
  text: string | null,
  kb: Pick<KnowledgeBase, 'embeddingModel' | 'language'>,
): boolean {
  return text !== null && defaultAlpha(text, kb) === ALPHA
}
