/**
 * For an agent with many knowledge bases: a few statements find the best chunk of each, then the
 * question is searched in the most relevant ones. Each statement is a tool call that clients can
 * see.
 */

import { literal, quotedPath } from '../../../core/domain/names.ts'
import type { ToolCall } from '../../../core/domain/ports/model-ports.ts'
import { parseCsv } from '../../../core/text/csv.ts'
import type { ObservedCall } from './asked-question.ts'
import { csvIn, failureIn, QUERY_TOOL, relevanceIn } from './observed-passages.ts'

/** Up to this many knowledge bases are all searched; of more, only the best. */
const SEARCHED_MAX = 5
const COMPARE_ID = 'compare-'
export const SEARCH_ID = 'search-'
/** One row per knowledge base, and fewer than a tool shows. */
const BASES_PER_STATEMENT = 25
const SEARCHES_MAX = 4
/** How much of the question each statement contains. */
const COMPARED_CHARS_MAX = 800
/** The default number of steps, minus those for searching and for reading around the results. */
const STEPS = 10
const SEARCH_STEPS = 4
const AROUND_STEPS = 2

export interface Choice {
  /** The calls to make before the search. */
  readonly calls: readonly ToolCall[]
  readonly chosen: readonly string[]
  /** All that were compared, including empty ones. */
  readonly compared: readonly string[]
  readonly failures: readonly BaseFailure[]
}

export interface BaseFailure {
  readonly name: string
  readonly message: string
}

interface Known {
  /** By the knowledge bases that the call compares. */
  readonly made: ReadonlyMap<string, ObservedCall>
  /** null if the knowledge base is empty. */
  readonly best: Map<string, BestChunk | null>
  readonly failed: Map<string, string>
  readonly missing: { readonly names: readonly string[]; readonly message: string }[]
}

interface BestChunk {
  readonly relevance: number
  /** The keyword score, which does not depend on the embedding model. */
  readonly words: number
}

/** @param calls the calls for this question so far */
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

function groupsOf(names: readonly string[]): readonly (readonly string[])[] {
  const compared = names.slice(0, SEARCHES_MAX * BASES_PER_STATEMENT)
  const count = Math.ceil(compared.length / BASES_PER_STATEMENT)
  const size = Math.ceil(compared.length / count)
  return Array.from({ length: count }, (_, at) => compared.slice(at * size, (at + 1) * size))
}

/**
 * Learns from a failed statement: one knowledge base that cannot be searched makes the whole
 * statement fail. Those named in the error are left out of the next one; if none is named, each
 * half is tried.
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

/** Whether the name appears in the text, but not inside a longer name. */
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
    return `(SELECT ${columns} FROM ${quotedPath(name)} WHERE content = ${text} LIMIT 1)`
  })
  return `${each.join('\nUNION ALL ')}\nORDER BY relevance DESC`
}

/** The names in a comparing statement. Similar text from a question would have doubled quotes. */
function comparedIn(sql: string): readonly string[] {
  const names = sql.matchAll(/\(SELECT '((?:[^']|'')*)' AS knowledge_base, id, /g)
  return [...names].map(([, name = '']) => name.replaceAll("''", "'"))
}

function namesKey(names: readonly string[]): string {
  return JSON.stringify(names)
}

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

/** Every third is the best by keywords alone: an embedding model may rate any texts as close. */
function bestOf(best: ReadonlyMap<string, BestChunk | null>): readonly string[] {
  const found = [...best].flatMap(([name, chunk]) => (chunk === null ? [] : [{ name, ...chunk }]))
  const byRelevance = found.toSorted((a, b) => b.relevance - a.relevance).map(({ name }) => name)
  const byWords = found.toSorted((a, b) => b.words - a.words).map(({ name }) => name)
  const order = byWords.flatMap((name, at) => [...byRelevance.slice(2 * at, 2 * at + 2), name])
  return [...new Set([...order, ...byRelevance])]
}
