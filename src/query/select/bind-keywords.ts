/** The terms and phrases of a plan's hybrid searches, of one state of each knowledge base. */
import { queryTerms } from '../../analysis/query-terms.ts'
import type { PhraseHits, QueryTerms } from '../../domain/hybrid-search.ts'
import type { BoundValue } from '../../domain/ports/engine-ports.ts'
import type { CommittedStates, WatchedState } from '../../domain/ports/search-ports.ts'
import { canBeFedBack, defaultAlpha } from '../../retrieval/fusion.ts'
import {
  alphaParameter,
  isFedBackParameter,
  isPhraseFilterParameter,
  phraseBonusesParameter,
  phraseBoundParameter,
  phraseKeysParameter,
  type SearchInput,
  termCountsParameter,
  termKeysParameter,
} from '../../sql/search/plan-inputs.ts'
import type { ParameterValues } from '../variables.ts'
import { findPhrases } from './find-phrases.ts'
import type { SelectPlan } from './plan-cache.ts'
import type { RunContext } from './query-deps.ts'

export interface BoundKeywords {
  readonly values: Readonly<Record<string, BoundValue>>
  /** False when a transaction that has begun since may see other chunks with the phrases, or terms of another language. */
  isCurrent(): boolean
}

type KeywordContext = RunContext & { readonly params: ParameterValues }

/** @throws AppError those of `SqlEngine.run` */
export async function bindKeywords(
  plan: SelectPlan,
  context: KeywordContext,
): Promise<BoundKeywords> {
  const hybrid = plan.searches.filter(({ text, textIndex }) => {
    return text.kind !== 'column' && plan.parameters.has(termKeysParameter(textIndex))
  })
  if (hybrid.length === 0) return NOTHING
  const bound = await Promise.all(hybrid.map((search) => keywordsOf(search, plan, context)))
  return {
    values: Object.assign({}, ...bound.map(({ values }) => values)),
    isCurrent: () => bound.every((keywords) => keywords.isCurrent()),
  }
}

const NOTHING: BoundKeywords = { values: {}, isCurrent: () => true }

async function keywordsOf(
  search: SearchInput,
  plan: SelectPlan,
  context: KeywordContext,
): Promise<BoundKeywords> {
  const { commits } = context.deps
  const text = searchedText(search, context)
  const state = await commits.watch(search.knowledgeBase)
  // It is gone: the statement says so.
  if (state === null)
    return { ...NOTHING, values: hybridValues(search, plan, { text, phrases: null }) }
  const { knowledgeBase } = state
  const phrases = text === null ? null : await findPhrases(text, state, context)
  const values = hybridValues({ ...search, knowledgeBase }, plan, { text, phrases })
  const isCurrent = () =>
    state.isCurrent() || (phrases === null && isLanguageLasting(state, commits))
  return { values, isCurrent }
}

/** null: a vector is searched for. */
function searchedText({ text }: SearchInput, { params }: KeywordContext): string | null {
  const value =
    text.kind === 'constant' ? text.text : text.kind === 'parameter' ? params.get(text.name) : null
  return typeof value === 'string' ? value.toWellFormed() : null
}

/** Whether what was committed meanwhile was no index of another language. One that is being committed may be it. */
function isLanguageLasting({ knowledgeBase }: WatchedState, commits: CommittedStates): boolean {
  const now = commits.current(knowledgeBase)
  if (now?.language !== knowledgeBase.language) return false
  return now.nextLanguage === null || !commits.isCommitting(now)
}

const NO_TERMS: QueryTerms = { keys: [], counts: [] }

/**
 * The terms and phrases of a search text, and the weight of its vector where the statement names none, as far as the
 * statement uses them.
 * @param searched.text null: only the vector is known
 */
export function hybridValues(
  { textIndex, knowledgeBase }: SearchInput,
  plan: Pick<SelectPlan, 'parameters'>,
  { text, phrases }: { readonly text: string | null; readonly phrases: PhraseHits | null },
): Readonly<Record<string, BoundValue>> {
  const { keys, counts } = text === null ? NO_TERMS : queryTerms(text, knowledgeBase.language)
  const alpha = { [alphaParameter(textIndex)]: defaultAlpha(text, knowledgeBase) }
  const feedback = { [isFedBackParameter(textIndex)]: canBeFedBack(text, knowledgeBase) }
  return {
    [termKeysParameter(textIndex)]: keys,
    [termCountsParameter(textIndex)]: counts,
    [phraseKeysParameter(textIndex)]: phrases?.keys ?? [],
    [phraseBonusesParameter(textIndex)]: phrases?.bonuses ?? [],
    [phraseBoundParameter(textIndex)]: phrases?.bound ?? 0,
    [isPhraseFilterParameter(textIndex)]: phrases?.isFilter ?? false,
    ...(plan.parameters.has(alphaParameter(textIndex)) ? alpha : {}),
    ...(plan.parameters.has(isFedBackParameter(textIndex)) ? feedback : {}),
  }
}
