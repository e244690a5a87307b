/**
 * Binds the terms and phrases of a plan's hybrid searches, for one state of each knowledge base.
 */

import { requireHere } from '../../core/domain/access/catalog-snapshot.ts'
import { chunkTables } from '../../core/domain/document.ts'
import { BM25, type PhraseHits, type QueryTerms } from '../../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import type { CommittedStates, WatchedState } from '../../core/domain/ports/search-ports.ts'
import { SLICE_MS, TimeSlice, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { PhraseReader } from '../../core/text/phrase-reader.ts'
import { type Phrase, phrasesOf, queryTerms, type TermGroup } from '../../core/text/phrases.ts'
import { canBeFedBack, defaultAlpha } from '../../retrieval/fusion.ts'
import { BOUND, type SearchInput } from '../../sql/search/plan-inputs.ts'
import type { SelectPlan } from './plan-cache.ts'
import { type Holders, type RunContext, runLimits, type Verdict } from './query-deps.ts'

export interface BoundKeywords {
  readonly values: Readonly<Record<string, BoundValue>>
  /** False if a new transaction may see other chunks with the phrases, or other terms. */
  isCurrent(): boolean
}

/** @throws AppError like `SqlEngine.run` */
export async function bindKeywords(plan: SelectPlan, context: RunContext): Promise<BoundKeywords> {
  const hybrid = plan.searches.filter(({ text, textIndex }) => {
    return text.kind !== 'column' && plan.parameters.has(BOUND.termKeys(textIndex))
  })
  if (hybrid.length === 0) return NO_KEYWORDS
  const bound = await Promise.all(hybrid.map((search) => keywordsOf(search, plan, context)))
  return {
    values: Object.assign({}, ...bound.map(({ values }) => values)),
    isCurrent: () => bound.every((keywords) => keywords.isCurrent()),
  }
}

const NO_KEYWORDS: BoundKeywords = { values: {}, isCurrent: () => true }

async function keywordsOf(
  search: SearchInput,
  plan: SelectPlan,
  context: RunContext,
): Promise<BoundKeywords> {
  const { commits } = context.deps
  const text = searchedText(search, context)
  const state = await commits.watch(search.knowledgeBase)
  // The knowledge base was dropped, so the statement will fail.
  if (state === null)
    return { ...NO_KEYWORDS, values: hybridValues(search, plan, { text, phrases: null }) }
  const { knowledgeBase } = state
  const phrases = text === null ? null : await findPhrases(text, state, context)
  const values = hybridValues({ ...search, knowledgeBase }, plan, { text, phrases })
  const isCurrent = () =>
    state.isCurrent() || (phrases === null && isLanguageLasting(state, commits))
  return { values, isCurrent }
}

function searchedText({ text }: SearchInput, { params }: RunContext): string | null {
  const value =
    text.kind === 'constant' ? text.text : text.kind === 'parameter' ? params.get(text.name) : null
  return typeof value === 'string' ? value.toWellFormed() : null
}

/** Since no index in another language was committed. A commit in progress counts. */
function isLanguageLasting({ knowledgeBase }: WatchedState, commits: CommittedStates): boolean {
  const now = commits.current(knowledgeBase)
  if (now?.language !== knowledgeBase.language) return false
  return now.nextLanguage === null || !commits.isCommitting(now)
}

const NO_TERMS: QueryTerms = { keys: [], counts: [] }

/** As far as the statement uses them. @param searched.text null if only the vector is known */
export function hybridValues(
  { textIndex, knowledgeBase }: SearchInput,
  plan: Pick<SelectPlan, 'parameters'>,
  { text, phrases }: { readonly text: string | null; readonly phrases: PhraseHits | null },
): Readonly<Record<string, BoundValue>> {
  const { keys, counts } = text === null ? NO_TERMS : queryTerms(text, knowledgeBase.language)
  const alpha = { [BOUND.alpha(textIndex)]: defaultAlpha(text, knowledgeBase) }
  const feedback = { [BOUND.isFedBack(textIndex)]: canBeFedBack(text, knowledgeBase) }
  return {
    [BOUND.termKeys(textIndex)]: keys,
    [BOUND.termCounts(textIndex)]: counts,
    [BOUND.phraseKeys(textIndex)]: phrases?.keys ?? [],
    [BOUND.phraseBonuses(textIndex)]: phrases?.bonuses ?? [],
    [BOUND.phraseBound(textIndex)]: phrases?.bound ?? 0,
    [BOUND.isPhraseFilter(textIndex)]: phrases?.isFilter ?? false,
    ...(plan.parameters.has(BOUND.alpha(textIndex)) ? alpha : {}),
    ...(plan.parameters.has(BOUND.isFedBack(textIndex)) ? feedback : {}),
  }
}

// Finds the chunks that contain a query's phrases before its statement runs, both for searches in
// memory and in the database.

/** The most texts to read for the phrases of one search. */
const TEXTS_MAX = 1_000
/** The most characters of text to read. */
const PHRASE_CHARS_MAX = 16_000_000
/** Read this many texts in the first round, to learn how long they are. */
const FIRST_TEXTS = 16
const TEXTS_PER_READ = 256
const CHARS_PER_READ = 1_000_000

const VERDICT_BYTES = 64
const PHRASE_BYTES = 500

/**
 * A phrase counts like one more term that occurs once in a chunk of average length. Word positions
 * are not stored, so the texts of chunks with all terms of a phrase are compared, those with the
 * most occurrences first.
 * @returns null if there is no phrase
 * @throws AppError like `SqlEngine.run`
 */
async function findPhrases(
  text: string,
  state: WatchedState,
  context: RunContext,
): Promise<PhraseHits | null> {
  const { phrases, isWhole } = phrasesOf(text, state.knowledgeBase.language)
  if (phrases.length === 0) return null
  requireHere(state.knowledgeBase)
  const bonuses = new Map<bigint, number>()
  const counts = new Map<bigint, number>()
  let bound = 0
  // One phrase at a time, because each keeps some texts in memory.
  for (const phrase of phrases) {
    const { keys, chunkCount } = await holdersOf(phrase, state, context, phrases.length)
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
  state: WatchedState,
  context: RunContext,
  phraseCount: number,
): Promise<Holders> {
  const { knowledgeBase: kb } = state
  const { phrases } = context.deps
  const name = `${kb.id} ${kb.language} ${phraseCount} ${phrase.text}`
  const known = phrases.get(name)
  if (known?.stateNumber === state.number) return known.holders
  const { candidates, chunkCount } = await candidatesOf(phrase, kb, context, phraseCount)
  const reading = { phrase, kb, charsMax: PHRASE_CHARS_MAX / phraseCount, known: known?.verdicts }
  const verdicts = await verdictsOf(candidates, reading, context)
  const keys = candidates.filter((key) => verdicts.get(key)?.isHeld === true)
  const holders = { keys, chunkCount }
  // A later commit may have changed the results, so do not cache them. The search will be repeated.
  if (!state.isCurrent()) return holders
  const bytes = PHRASE_BYTES + 2 * name.length + VERDICT_BYTES * verdicts.size + 8 * keys.length
  phrases.set(name, { holders, stateNumber: state.number, verdicts, bytes })
  return holders
}

async function candidatesOf(
  { needed, terms }: Phrase,
  kb: KnowledgeBase,
  { deps, signal }: RunContext,
  phraseCount: number,
) {
  const { postings, recentPostings, termCounts } = chunkTables(kb)
  const all = new Set([...terms, ...needed.flatMap(termsOf)])
  const conditions = needed.map(groupCondition).join(' AND ')
  const sql = `SELECT chunk_key::VARCHAR, (SELECT count(*) FROM ${termCounts}) AS chunk_count
    FROM (SELECT chunk_key, count(*) FILTER (term IN ($terms)) AS held, min(frequency) AS least FROM
        (SELECT * FROM ${postings} UNION ALL SELECT * FROM ${recentPostings})
      WHERE term IN ($all) GROUP BY chunk_key HAVING ${conditions})
    ORDER BY held DESC, least DESC, chunk_key LIMIT ${Math.floor(TEXTS_MAX / phraseCount)}`
  const select = { sql, values: { terms: [...terms], all: [...all] } }
  const { batches } = await deps.engine.run(select, runLimits(deps), signal)
  const candidates: bigint[] = []
  let chunkCount = 0
  for await (const rows of batches) {
    for (const [key, count] of rows) {
      chunkCount = Number(count)
      candidates.push(BigInt(String(key)))
    }
  }
  return { candidates, chunkCount }
}

function termsOf({ all, or }: TermGroup): readonly bigint[] {
  return or === null ? all : [...all, or]
}

/** There is one row per chunk and term. */
function groupCondition({ all, or }: TermGroup): string {
  const distinct = [...new Set(all)]
  const holdsAll = `count(*) FILTER (term IN (${distinct.join(', ')})) = ${distinct.length}`
  return or === null ? holdsAll : `(${holdsAll} OR bool_or(term = ${or}))`
}

interface Reading {
  readonly phrase: Phrase
  readonly kb: KnowledgeBase
  readonly charsMax: number
  readonly known: ReadonlyMap<bigint, Verdict> | undefined
}

/** Reads texts in chunk order, up to the limit of characters. */
async function verdictsOf(
  candidates: readonly bigint[],
  { phrase, kb, charsMax, known }: Reading,
  context: RunContext,
): Promise<ReadonlyMap<bigint, Verdict>> {
  const reader = new PhraseReader(phrase, kb.language)
  const slice = new TimeSlice(SLICE_MS)
  const verdicts = new Map<bigint, Verdict>()
  let charCount = 0
  let size = FIRST_TEXTS
  for (let start = 0; start < candidates.length; ) {
    const keys = candidates.slice(start, start + size)
    const unknown = keys.filter((key) => known?.has(key) !== true)
    const texts = await chunkTextsOf(unknown, kb, context)
    for (const key of keys) {
      if (charCount >= charsMax) return verdicts
      let verdict = known?.get(key)
      if (verdict === undefined) {
        const parts = texts.get(key) ?? []
        let isHeld = false
        for (const part of parts) isHeld ||= await isIn(reader.read(part), slice, context.signal)
        verdict = { isHeld, charCount: parts.reduce((sum, part) => sum + part.length, 0) }
      }
      charCount += verdict.charCount
      verdicts.set(key, verdict)
    }
    start += size
    const fitting = Math.floor((start * CHARS_PER_READ) / Math.max(charCount, 1))
    size = Math.max(1, Math.min(fitting, TEXTS_PER_READ))
  }
  return verdicts
}

async function isIn(
  reading: Generator<undefined, boolean>,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const { done, value } = reading.next()
    if (done === true) return value
    await slice.yieldIfSpent(signal)
  }
}

/** The phrase may be in the content, or in the text embedded before it. */
async function chunkTextsOf(
  keys: readonly bigint[],
  kb: KnowledgeBase,
  { deps, signal }: RunContext,
): Promise<ReadonlyMap<bigint, readonly string[]>> {
  const texts = new Map<bigint, string[]>()
  if (keys.length === 0) return texts
  const { chunks, contexts } = chunkTables(kb)
  const values = { keys: [...keys] }
  const limits = runLimits(deps)
  const context = {
    sql: `SELECT chunk_key::VARCHAR, context FROM ${contexts} WHERE chunk_key IN ($keys)`,
    values,
    isShort: true,
  }
  const addRows = async (select: typeof context) => {
    const { batches } = await deps.engine.run(select, limits, signal)
    for await (const rows of batches) {
      for (const [key, text] of rows) {
        const parts = texts.get(BigInt(String(key))) ?? []
        parts.push(String(text))
        texts.set(BigInt(String(key)), parts)
      }
    }
  }
  await addRows(context)
  const request = { knowledgeBase: kb, keys, columns: [], limits }
  const known = await deps.rows.rowsOf(request, signal)
  if (known === null) {
    const sql = `SELECT chunk_key::VARCHAR, chunk_content FROM ${chunks} WHERE chunk_key IN ($keys)`
    await addRows({ ...context, sql })
    return texts
  }
  await yieldToEventLoop()
  for (const [index, { content }] of known.entries()) {
    const key = keys[index] ?? 0n
    texts.set(key, [...(texts.get(key) ?? []), content])
  }
  return texts
}
