/** A text as its words, each with its position, so that two texts can be compared despite different marks and white space. */
export interface TextWords {
  readonly text: string
  readonly words: readonly Word[]
  /** All words in a row, each between two blanks: finding a run of words is one search. */
  readonly joined: string
  /** The start of each word in `joined`. */
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
const WORD_RUN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{N}\p{M}]+/gu

/** The target of a Markdown link is not part of its text. */
const LINK_TARGET = /\]\([^()\s]*\)/g

/** Only the beginning of longer texts is compared. */
const EVIDENCE_CHARS_MAX = 20_000

export function textWords(text: string): TextWords {
  const visible = text
    .slice(0, EVIDENCE_CHARS_MAX)
    .replace(LINK_TARGET, (target) => ' '.repeat(target.length))
  const words: Word[] = []
  const joinedStarts: number[] = []
  const parts: string[] = []
  let length = 0
  for (const { 0: found, index } of visible.matchAll(WORD_RUN)) {
    const value = found.normalize('NFKC').toLowerCase()
    words.push({ value, start: index, end: index + found.length })
    joinedStarts.push(length + 1)
    parts.push(` ${value}`)
    length += value.length + 1
  }
  return { text, words, joined: `${parts.join('')} `, joinedStarts }
}

/** Where these words occur in sequence in a text; null: nowhere. */
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

/** Signs that belong to the word next to them. */
const BEFORE_WORD = /[$€£¥₹±+−#@-]$/u
const AFTER_WORD = /^[%°‰€]/u
const SENTENCE_END = /^[.!?…。！？]+/u
/** Marks opened in a quote are closed in it, and vice versa. */
const PAIRS = [
  ['**', '**'],
  ['__', '__'],
  ['`', '`'],
  ['"', '"'],
  ['“', '”'],
  ['(', ')'],
  ['[', ']'],
] as const

/** The part of the text from the first word of a run to its last, with the signs that belong to them. */
export function runSpan(run: WordRun, { text, words }: TextWords): Span {
  let start = words[run.first]?.start ?? 0
  let end = words[run.last]?.end ?? 0
  if (BEFORE_WORD.test(text.slice(0, start))) start -= 1
  if (AFTER_WORD.test(text.slice(end, end + 1))) end += 1
  for (const [open, close] of PAIRS) {
    const inner = text.slice(start, end)
    const opened = inner.split(open).length - 1
    const closed = open === close ? opened % 2 : opened - (inner.split(close).length - 1)
    if (closed > 0 && text.startsWith(close, end)) end += close.length
    else if (closed !== 0 && text.slice(0, start).endsWith(open)) start -= open.length
  }
  end += SENTENCE_END.exec(text.slice(end, end + 8))?.[0].length ?? 0
  return wholeRow({ start, end }, text)
}

/** A row of a table with the signs at its ends. */
function wholeRow({ start, end }: Span, text: string): Span {
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  const after = text.slice(end).split('\n', 1)[0] ?? ''
  const isRow = text.slice(start, end).includes('|')
  const opening = isRow && /^\s*\|\W{0,9}$/.test(before) ? before.trimStart().length : 0
  const closing = isRow && /^\W{0,9}\|\s*$/.test(after) ? after.trimEnd().length : 0
  return { start: start - opening, end: end + closing }
}

/** Code units into a text. */
export interface Span {
  readonly start: number
  readonly end: number
}
