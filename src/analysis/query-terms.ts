import type { Language } from '../domain/language.ts'
import { Analyzer } from './analyzer.ts'

/** Distinct terms of one searched text: what comes after them adds time and no sense. */
const QUERY_TERMS_MAX = 256
const PHRASES_MAX = 16

/** The keys of a searched text's distinct terms. */
export function queryTermKeys(text: string, language: Language): readonly bigint[] {
  const keys = new Set<bigint>()
  for (const terms of new Analyzer(language).terms(text)) {
    for (const { key } of terms) keys.add(key)
    if (keys.size >= QUERY_TERMS_MAX) break
  }
  return [...keys].slice(0, QUERY_TERMS_MAX)
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
