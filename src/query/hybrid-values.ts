import { languageOf } from '../domain/language.ts'
import { BUILTIN_PROVIDER } from '../domain/model-ref.ts'
import type { BoundValue } from '../domain/ports.ts'
import { isMostlyLatin, phrasesOf, queryTermKeys } from '../search/keyword/query-terms.ts'
import { alphaParameter, keywordsParameter, phrasesParameter } from '../sql/ranking.ts'
import type { SearchRequest } from '../sql/requests.ts'
import type { SelectPlan } from './plan-cache.ts'

const ALPHA = 0.5

/** For a text in a script that the embedding model was not made for: its vector says little. */
const FOREIGN_ALPHA = 0.1

/**
 * The keywords of a searched text, and the weight of its vector where the statement names none, as far as the statement
 * uses them. The built-in model is English: for a text that is mostly in another script than Latin, keywords count more.
 * @param text null: only the vector is known
 */
export function hybridValues(
  { text: number, knowledgeBase }: SearchRequest,
  plan: SelectPlan,
  text: string | null,
): Readonly<Record<string, BoundValue>> {
  if (!plan.parameters.has(keywordsParameter(number))) return {}
  const isForeign =
    text !== null &&
    knowledgeBase.embeddingModel.provider === BUILTIN_PROVIDER &&
    !isMostlyLatin(text)
  const alpha = { [alphaParameter(number)]: isForeign ? FOREIGN_ALPHA : ALPHA }
  return {
    [keywordsParameter(number)]:
      text === null ? [] : queryTermKeys(text, languageOf(knowledgeBase)),
    [phrasesParameter(number)]: ['', ...(text === null ? [] : phrasesOf(text))],
    ...(plan.parameters.has(alphaParameter(number)) ? alpha : {}),
  }
}
