/** A text as its words, each with its place, so that two texts can be compared whatever marks and white space stand between. */
export interface TextWords {
  readonly text: string
  readonly words: readonly Word[]
  /** All words in a row, each between two blanks: where a run of words stands is one search. */
  readonly joined: string
  /** Where each word begins in `joined`. */
  readonly joinedStarts: readonly number[]
}

export interface Word {
  /** Without case. */
  readonly value: string
  readonly start: number
  readonly end: number
}

/** From the first of these words to the last. */
export interface WordRun {
  readonly first: number
  readonly last: number
}

/** Scripts without blanks between words: each sign counts as one. */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{N}\p{M}]+/gu

/** Where a link of Markdown leads is not part of what it says. */
const LINK_TARGET = /\]\([^()\s]*\)/g

/** Longer texts are compared by their beginning. */
const TEXT_CHARS_MAX = 60_000

export function wordsOf(text: string): TextWords {
  const visible = text
    .slice(0, TEXT_CHARS_MAX)
    .replace(LINK_TARGET, (target) => ' '.repeat(target.length))
  const words: Word[] = []
  const joinedStarts: number[] = []
  const parts: string[] = []
  let length = 0
  for (const { 0: found, index } of visible.matchAll(WORD)) {
    const value = found.normalize('NFKC').toLowerCase()
    words.push({ value, start: index, end: index + found.length })
    joinedStarts.push(length + 1)
    parts.push(` ${value}`)
    length += value.length + 1
  }
  return { text, words, joined: `${parts.join('')} `, joinedStarts }
}

/** Where these words stand one after the other in a text; null: nowhere. */
export function runOf(words: readonly Word[], within: TextWords): WordRun | null {
  if (words.length === 0) return null
  const wanted = ` ${words.map(({ value }) => value).join(' ')} `
  const at = within.joined.indexOf(wanted)
  if (at === -1) return null
  const first = indexOfStart(within.joinedStarts, at + 1)
  return { first, last: first + words.length - 1 }
}

function indexOfStart(starts: readonly number[], start: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) < start) low = middle + 1
    else high = middle
  }
  return low
}

/** Signs that belong to the word before or after which they stand. */
const BEFORE_WORD = /[$€£¥₹±+−#@-]$/u
const AFTER_WORD = /^[%°‰€]?[)\]]?[.!?…。！？]*/u

/** The part of the text from the first word of a run to its last, with the signs that belong to them. */
export function spanOf(run: WordRun, { text, words }: TextWords): Span {
  const first = words[run.first]?.start ?? 0
  const last = words[run.last]?.end ?? 0
  const start = BEFORE_WORD.test(text.slice(0, first)) ? first - 1 : first
  const signs = AFTER_WORD.exec(text.slice(last, last + 8))?.[0] ?? ''
  const isOpened = /[([]/.test(text.slice(start, last))
  return { start, end: last + (isOpened ? signs : signs.replace(/[)\].].*$/s, closing)).length }
}

/** A bracket that closes nothing in the quote is not part of it. */
function closing(signs: string): string {
  return /^[)\]]/.test(signs) ? '' : signs
}

/** Code units into a text. */
export interface Span {
  readonly start: number
  readonly end: number
}
