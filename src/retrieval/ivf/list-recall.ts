import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import type { IndexRows } from '../vectors/exact-index.ts'
import type { InvertedLists, Probing } from './inverted-lists.ts'
import { LIST_LIMITS } from './list-limits.ts'
import { sampledRows } from './train-centroids.ts'

export interface ListRecall {
  /** For each of `LIST_LIMITS.depths`; the first is 10. */
  readonly probings: readonly Probing[]
  /** Of the 10 nearest, those found in the lists that are read then: a mean over all questions. */
  readonly recallAt10: number
  /** Of all vectors, those in these lists: a mean over all questions. */
  readonly scannedShare: number
}

/** One vector of the base that was searched for. */
interface Question {
  /** Lists, that with the nearest centroid first. */
  readonly ranked: readonly number[]
  /** Of each neighbour, the nearest first, the place of its list among these. */
  readonly places: readonly number[]
}

/**
 * Measures how many lists must be read: some of the base's own vectors, as their codes say them, are
 * searched for exactly, each among all others, and the lists of their neighbours looked up. Reading
 * a list finds all that is in it, so that this is the recall of the searches themselves.
 */
export async function measuredRecall(
  base: IndexRows,
  { lists, random }: { readonly lists: InvertedLists; random(): number },
  signal: AbortSignal,
): Promise<ListRecall> {
  const rows = await sampledRows(base, { count: LIST_LIMITS.questions, random }, signal)
  const slice = new TimeSlice(LIST_LIMITS.busyMsMax)
  const questions: Question[] = []
  // There may be more rows than questions: take them evenly.
  const count = Math.min(rows.length, LIST_LIMITS.questions)
  for (let index = 0; index < count; index++) {
    const row = rows[Math.floor((index * rows.length) / count)] ?? 0
    const question = await questionOf(row, base, lists, signal)
    if (question !== null) questions.push(question)
    await slice.yieldIfSpent(signal)
  }
  const measured = { questions, lists, count: base.count() }
  const probings = LIST_LIMITS.depths.map((depth) => probingOf(measured, depth))
  const probeCount = probings[0]?.probeCount ?? lists.count
  return {
    probings,
    recallAt10: recallOf(questions, { depth: 10, probeCount }),
    scannedShare: shareOf(measured, probeCount),
  }
}

interface Measured {
  readonly questions: readonly Question[]
  readonly lists: InvertedLists
  /** Of all vectors. */
  readonly count: number
}

async function questionOf(
  row: number,
  base: IndexRows,
  lists: InvertedLists,
  signal: AbortSignal,
): Promise<Question | null> {
  const vector = base.codes.unitVector(row)?.slice(0, base.dimensions)
  if (vector === undefined) return null
  const deepest = Math.max(...LIST_LIMITS.depths)
  const found = await base.nearest({ queryVector: vector, k: deepest + 1 }, signal)
  const ranked = lists.ranked(vector)
  const placeOf = new Int32Array(lists.count)
  for (const [place, list] of ranked.entries()) placeOf[list] = place
  const places: number[] = []
  for (const { key } of found) {
    const neighbour = base.rowOf(key)
    if (neighbour === undefined || neighbour === row || places.length === deepest) continue
    const list = lists.listOf(neighbour)
    // Those that came meanwhile are found in any case.
    if (list !== null) places.push(placeOf[list] ?? 0)
  }
  return { ranked, places }
}

/** The fewest lists that reach the aim. */
function probingOf(measured: Measured, depth: number): Probing {
  const { questions, lists } = measured
  let low = 1
  let high = lists.count
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (recallOf(questions, { depth, probeCount: middle }) >= LIST_LIMITS.recallAim) high = middle
    else low = middle + 1
  }
  const isFew = shareOf(measured, low) <= LIST_LIMITS.scannedShareMax
  return { depth, probeCount: low, isWorthwhile: isFew }
}

interface Reading {
  readonly depth: number
  readonly probeCount: number
}

/** In [0, 1]; 1 where there was nothing to be found. */
function recallOf(questions: readonly Question[], { depth, probeCount }: Reading): number {
  let wanted = 0
  let found = 0
  for (const { places } of questions) {
    for (const place of places.slice(0, depth)) {
      wanted += 1
      if (place < probeCount) found += 1
    }
  }
  return wanted === 0 ? 1 : found / wanted
}

function shareOf({ questions, lists, count }: Measured, probeCount: number): number {
  let scanned = 0
  for (const { ranked } of questions) {
    for (const list of ranked.slice(0, probeCount)) scanned += lists.countOf(list)
  }
  return scanned / Math.max(1, questions.length * count)
}
