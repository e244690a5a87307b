/**
 * The words of a document. They decide whether a hyphen at the end of a line belongs to the word.
 */
export class Vocabulary {
  readonly #words = new Set<string>()
  /** Words that occur without a capital letter; parts of German nouns do not. */
  readonly #small = new Set<string>()
  /** The first and last parts of hyphenated compounds. */
  readonly #firsts = new Set<string>()
  readonly #lasts = new Set<string>()

  add(line: string): void {
    // The last word of a line may be only half a word.
    const end = /[-\u00ad\u2010]$/.test(line) ? line.search(/\S+$/) : line.length
    for (const [word] of line.slice(0, end).matchAll(WORDS_OF_LINE)) {
      if (this.#words.size >= LEARNED_WORDS_MAX) return
      const small = word.toLowerCase()
      this.#words.add(small)
      if (small === word) this.#small.add(word)
      const hyphen = small.indexOf('-')
      if (hyphen < 0) continue
      this.#firsts.add(small.slice(0, hyphen))
      this.#lasts.add(small.slice(small.lastIndexOf('-') + 1))
    }
  }

  has(word: string): boolean {
    return this.#words.has(word.toLowerCase())
  }

  /** Whether the two words form a compound elsewhere in the document, or in a name. */
  areParts(first: string, last: string): boolean {
    if (first.length < PART_MIN || last.length < PART_MIN) return false
    if (!this.has(first) || !this.#small.has(last)) return false
    if (/^\p{Lu}/u.test(first)) return true
    return this.#firsts.has(first.toLowerCase()) || this.#lasts.has(last)
  }
}

export function joined(before: string, after: string, vocabulary: Vocabulary): string {
  const [start] = FIRST_WORD.exec(after) ?? ['']
  const [, stem, hyphen] = LAST_HYPHENED.exec(before) ?? []
  if (stem !== undefined && hyphen !== undefined && start !== '') {
    const rest = before.slice(0, before.length - hyphen.length)
    if (hyphen === '\u00ad') return rest + after
    if (keepsHyphen(stem, start, vocabulary)) return `${rest}-${after}`
    return rest + after
  }
  const [last, first] = [before.slice(-1), after.slice(0, 1)]
  // Chinese and Japanese have no spaces between words, but Korean does.
  if (NO_SPACES.test(last) && NO_SPACES.test(first)) return before + after
  if (
    /[-\u2010\u2013\u2014/]$/.test(before) &&
    /^\p{L}/u.test(after) &&
    /\S[-\u2010/]$/.test(before)
  )
    return before + after
  return `${before} ${after}`
}

function keepsHyphen(stem: string, start: string, vocabulary: Vocabulary): boolean {
  if (/^[\p{Lu}\p{N}]/u.test(start) || /\p{N}$/u.test(stem)) return true
  if (vocabulary.has(`${stem}-${start}`)) return true
  if (vocabulary.has(stem + start)) return false
  // Both halves are words but the whole is not, so it is a compound.
  const last = stem.split('-').at(-1) ?? stem
  if (stem.includes('-')) return vocabulary.has(last) && vocabulary.has(start)
  return vocabulary.areParts(stem, start)
}

export function withoutSoftHyphens(text: string): string {
  return text.replaceAll('\u00ad', '')
}

const LEARNED_WORDS_MAX = 500_000
const PART_MIN = 3
const WORDS_OF_LINE = /[\p{L}\p{N}]+(?:[-'’][\p{L}\p{N}]+)*/gu
const FIRST_WORD = /^[\p{L}\p{N}]+/u
const LAST_HYPHENED = /([\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*)([-\u00ad\u2010])$/u
const NO_SPACES = /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]/
