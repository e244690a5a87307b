import type { QueryTerms } from '../domain/hybrid-search.ts'
import type { Language } from '../domain/language.ts'
import { Analyzer } from './analyzer.ts'

/** Distinct terms of one searched text: what comes after them adds time and no sense. */
const QUERY_TERMS_MAX = 256
const PHRASES_MAX = 16

/** A searched text's distinct terms, and how often each stands there, as far as the text is read. */
export function queryTerms(text: string, language: Language): QueryTerms {
  const counts = new Map<bigint, number>()
  for (const terms of new Analyzer(language, 'query').terms(text)) {
    for (const { key } of terms) counts.set(key, (counts.get(key) ?? 0) + 1)
    if (counts.size >= QUERY_TERMS_MAX) break
  }
  const first = [...counts].slice(0, QUERY_TERMS_MAX)
  return { keys: first.map(([key]) => key), counts: first.map(([, count]) => count) }
}

/**
 * What stands in double quotes: `"green tea" Japan` → `green tea`. A quote after a letter or digit opens nothing, so that
 * inches (`a 24" screen`) are none.
 */
export function phrasesOf(text: string): readonly string[] {
  const quoted = text.matchAll(/(?<![\p{L}\p{N}])["“”]([^"“”]+)["“”](?![\p{L}\p{N}])/gu)
  const phrases = [...quoted].map(([, phrase = '']) => phrase.trim()).filter(Boolean)
  return [...new Set(phrases)].slice(0, PHRASES_MAX)
}
