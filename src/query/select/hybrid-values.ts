import { isForeignToEnglish } from '../../analysis/foreign-words.ts'
import { isMostlyLatin, phrasesOf, queryTermKeys } from '../../analysis/query-terms.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { BUILTIN_PROVIDER } from '../../domain/model-ref.ts'
import type { BoundValue } from '../../domain/ports.ts'
import type { SearchRequest } from '../../sql/search/plan-inputs.ts'
import { alphaParameter, keywordsParameter, phrasesParameter } from '../../sql/search/ranking.ts'
import type { SelectPlan } from './plan-cache.ts'

const ALPHA = 0.5

/** For a text in a script that the embedding model was not made for: its vector says little. */
const FOREIGN_SCRIPT_ALPHA = 0.1

/** For one in its script and another language: names and shared words still have a meaning to it. */
const FOREIGN_LANGUAGE_ALPHA = 0.3

/**
 * The keywords of a searched text, and the weight of its vector where nothing names one, as far as the statement uses them.
 * @param text null: only the vector is known
 */
export function hybridValues(
  { text: number, knowledgeBase }: SearchRequest,
  plan: SelectPlan,
  text: string | null,
): Readonly<Record<string, BoundValue>> {
  if (!plan.parameters.has(keywordsParameter(number))) return {}
  const alpha = { [alphaParameter(number)]: text === null ? ALPHA : alphaOf(text, knowledgeBase) }
  return {
    [keywordsParameter(number)]: text === null ? [] : queryTermKeys(text, knowledgeBase.language),
    [phrasesParameter(number)]: ['', ...(text === null ? [] : phrasesOf(text))],
    ...(plan.parameters.has(alphaParameter(number)) ? alpha : {}),
  }
}

/** The built-in model is English: in other languages keywords count more. Other models are taken to know them all. */
function alphaOf(text: string, kb: KnowledgeBase): number {
  if (kb.embeddingModel.provider !== BUILTIN_PROVIDER) return ALPHA
  if (!isMostlyLatin(text)) return FOREIGN_SCRIPT_ALPHA
  const { language } = kb
  const isOfForeign = language !== 'english' && language !== 'none'
  return isOfForeign || isForeignToEnglish(text) ? FOREIGN_LANGUAGE_ALPHA : ALPHA
}
