/**
 * An agent with many knowledge bases: a few statements ask each for its best chunk, and the question is then searched in those
 * whose best ones are the most relevant. Each statement is a call that a client can read.
 */

import { literal } from '../../../core/domain/names.ts'
import type { ToolCall } from '../../../core/domain/ports/model-ports.ts'
import { parseCsv } from '../../../core/domain/shown-values.ts'
import type { ObservedCall } from './asked-question.ts'
import { csvIn, failureIn, QUERY_TOOL, quotedName, relevanceIn } from './observed-passages.ts'

/** Up to this many are searched at once; of more, only the best. */
const SEARCHED_MAX = 5
/** The prefixes of the ids of comparing and of searching calls. */
const COMPARE_ID = 'compare-'
export const SEARCH_ID = 'search-'
/** A row each: fewer than a tool shows. */
const BASES_PER_STATEMENT = 25
const SEARCHES_MAX = 4
/** The part of the question repeated in the statement for each. */
const COMPARED_CHARS_MAX = 800
/** An agent's default steps, those that the search needs, and those for the surrounding text. */
const STEPS = 10
const SEARCH_STEPS = 4
const AROUND_STEPS = 2

/** Where to search for a question. */
export interface Choice {
  /** The calls that must come first. */
  readonly calls: readonly ToolCall[]
  /** The best first. */
  readonly chosen: readonly string[]
  /** All that were examined, also empty ones. */
  readonly compared: readonly string[]
  readonly failures: readonly BaseFailure[]
}

export interface BaseFailure {
  readonly name: string
  readonly message: string
}

/** The results of the statements so far. */
interface Known {
  /** By the knowledge bases they compare. */
  readonly made: ReadonlyMap<string, ObservedCall>
  /** null: it has no chunk. */
  readonly best: Map<string, BestChunk | null>
  readonly failed: Map<string, string>
  readonly missing: { readonly names: readonly string[]; readonly message: string }[]
}

interface BestChunk {
  readonly relevance: number
  /** Its part that the words have, which does not hang on the embedding model. */
  readonly words: number
}

/** @param calls those that this question has made */
export function choiceOf(
  question: string,
  names: readonly string[],
  calls: readonly ObservedCall[],
): Choice {
  if (names.length <= SEARCHED_MAX) {
    return { calls: [], chosen: names, compared: names, failures: [] }
  }
  const made = calls.filter(({ id }) => id.startsWith(COMPARE_ID))
  const known: Known = {
    made: new Map(made.map((call) => [namesKey(comparedIn(call.input)), call])),
    best: new Map(),
    failed: new Map(),
    missing: [],
  }
  for (const group of groupsOf(names)) learn(group, '', known)
  const stepsTaken = made.length + 1
  const room = made.length === 0 ? SEARCHES_MAX : STEPS - SEARCH_STEPS - stepsTaken
  const next = known.missing.slice(0, Math.max(0, room))
  if (next.length > 0 && !calls.some(({ id }) => id.startsWith(SEARCH_ID))) {
    const statements = next.map((part, index) => {
      const id = `${COMPARE_ID}${made.length + index + 1}`
      return { id, name: QUERY_TOOL, input: comparison(question, part.names) }
    })
    return { calls: statements, chosen: [], compared: [], failures: [] }
  }
  for (const part of known.missing) {
    for (const name of part.names) known.failed.set(name, part.message)
  }
  const searchedMax = Math.min(SEARCHED_MAX, STEPS - AROUND_STEPS - stepsTaken)
  return {
    calls: [],
    chosen: bestOf(known.best).slice(0, searchedMax),
    compared: [...known.best.keys()],
    failures: [...known.failed].map(([name, message]) => ({ name, message })),
  }
}

/** In groups of equal size. */
function groupsOf(names: readonly string[]): readonly (readonly string[])[] {
  const compared = names.slice(0, SEARCHES_MAX * BASES_PER_STATEMENT)
  const count = Math.ceil(compared.length / BASES_PER_STATEMENT)
  const size = Math.ceil(compared.length / count)
  return Array.from({ length: count }, (_, at) => compared.slice(at * size, (at + 1) * size))
}

/**
 * One that cannot be searched fails the whole statement: those named in the error are left out of the next one; if none is
 * named, each half is tried.
 */
function learn(names: readonly string[], message: string, known: Known): void {
  if (names.length === 0) return
  const call = known.made.get(namesKey(names))
  if (call === undefined) {
    known.missing.push({ names, message })
    return
  }
  const best = bestChunksIn(call.observation)
  if (best !== null) {
    for (const name of names) known.best.set(name, best.get(name) ?? null)
    return
  }
  const failure = failureIn(call.observation)
  const named =
    names.length === 1 ? names : names.filter((name) => appearsIn(name, call.observation))
  for (const name of named) known.failed.set(name, failure)
  if (named.length > 0) {
    const others = names.filter((name) => !named.includes(name))
    learn(others, failure, known)
    return
  }
  const half = Math.ceil(names.length / 2)
  learn(names.slice(0, half), failure, known)
  learn(names.slice(half), failure, known)
}

/** Not as a part of a longer name. */
function appearsIn(name: string, text: string): boolean {
  const bounded = name.replaceAll(
    /[^\p{L}\p{N}_]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  )
  return new RegExp(`(?<![\\p{L}\\p{N}_.])${bounded}(?![\\p{L}\\p{N}_])`, 'u').test(text)
}

function comparison(question: string, names: readonly string[]): string {
  const text = literal(question.slice(0, COMPARED_CHARS_MAX).toWellFormed())
  const each = names.map((name) => {
    const columns = `${literal(name)} AS knowledge_base, id, chunk_id, relevance, distance`
    return `(SELECT ${columns} FROM ${quotedName(name)} WHERE content = ${text} LIMIT 1)`
  })
  return `${each.join('\nUNION ALL ')}\nORDER BY relevance DESC`
}

/** The names in such a statement. Similar text in a question has doubled quotes there. */
function comparedIn(sql: string): readonly string[] {
  const names = sql.matchAll(/\(SELECT '((?:[^']|'')*)' AS knowledge_base, id, /g)
  return [...names].map(([, name = '']) => name.replaceAll("''", "'"))
}

function namesKey(names: readonly string[]): string {
  return JSON.stringify(names)
}

/** null if the statement failed. */
function bestChunksIn(observation: string): ReadonlyMap<string, BestChunk> | null {
  const csv = csvIn(observation)
  if (csv === null) return null
  const [header = [], ...rows] = parseCsv(csv)
  const nameColumn = header.indexOf('knowledge_base')
  const distanceColumn = header.indexOf('distance')
  return new Map(
    rows.flatMap((row): (readonly [string, BestChunk])[] => {
      const name = row[nameColumn] ?? ''
      if (name === '') return []
      const relevance = relevanceIn(header, row)
      const cosine = Math.max(0, 1 - Number(row[distanceColumn] ?? 1))
      return [[name, { relevance, words: relevance - cosine / 2 }]]
    }),
  )
}

/**
 * Most relevant first. Every third is the best by words alone: with another embedding model any two texts may be near, and
 * its knowledge bases must not take all places.
 */
function bestOf(best: ReadonlyMap<string, BestChunk | null>): readonly string[] {
  const found = [...best].flatMap(([name, chunk]) => (chunk === null ? [] : [{ name, ...chunk }]))
  const byRelevance = found.toSorted((a, b) => b.relevance - a.relevance).map(({ name }) => name)
  const byWords = found.toSorted((a, b) => b.words - a.words).map(({ name }) => name)
  const order = byWords.flatMap((name, at) => [...byRelevance.slice(2 * at, 2 * at + 2), name])
  return [...new Set([...order, ...byRelevance])]
}
