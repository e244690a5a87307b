import type { QueryTerms } from '../domain/hybrid-search.ts'
import type { Language } from '../domain/language.ts'
import { Analyzer } from './analyzer.ts'
import { weightOf } from './word-starts.ts'

/** Distinct terms of one searched text: what comes after them adds time and no sense. */
const QUERY_TERMS_MAX = 256

/** A searched text's distinct terms, and how much each counts: as often as it stands there, as far as the
 * text is read, and the start of a word half as much. */
export function queryTerms(text: string, language: Language): QueryTerms {
  const counts = new Map<bigint, number>()
  for (const terms of new Analyzer(language, 'query').terms(text)) {
    for (const { key, text: term } of terms)
      counts.set(key, (counts.get(key) ?? 0) + weightOf(term))
    if (counts.size >= QUERY_TERMS_MAX) break
  }
  const first = [...counts].slice(0, QUERY_TERMS_MAX)
  return { keys: first.map(([key]) => key), counts: first.map(([, count]) => count) }
}
