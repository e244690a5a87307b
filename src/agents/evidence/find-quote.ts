/** Finds the words in a chunk that an answer quotes or relies on. */
import { type Span, sentenceSpans } from '../../core/text/words.ts'

const CHOSEN_CHARS_MAX = 400
const QUOTED_CHARS_MAX = 2_000
/** Fewer words in quotation marks are only a name or a term. */
const QUOTE_WORDS_MIN = 4
/** If this many consecutive words of an answer are in a chunk, that is not a coincidence. */
const VERBATIM_WORDS_MIN = 6

/** How many claims per statement are checked, nearest to the chunk's name first. */
const CLAIMS_MAX = 10
const PIECES_MAX = 40

/** `chosen`: the part of the chunk that fits best. `none`: quoted words that the chunk lacks. */
type FoundQuote =
  | { readonly kind: 'quoted' | 'chosen'; readonly span: Span }
  | { readonly kind: 'none' }

/** @param statement the answer's text before the chunk's name */
export function findQuote(statement: string, chunk: TextWords): FoundQuote {
  const claims = claimsIn(statement)
  const bolds = boldsIn(statement)
  const found = claims.flatMap((claim) => standing(claim, bolds, chunk) ?? [])
  if (found.length > 0) return { kind: 'quoted', span: longest(found) }
  if (claims.some(({ isCertain }) => isCertain)) return { kind: 'none' }
  const verbatim = [...bolds, ...claimPieces(lastParagraph(statement))]
    .map(wordsIn)
    .filter((words) => words.length >= VERBATIM_WORDS_MIN)
    .flatMap((words) => spanIn(words, chunk) ?? [])
  if (verbatim.length > 0) return { kind: 'quoted', span: longest(verbatim) }
  return { kind: 'chosen', span: bestSentences(lastParagraph(statement), chunk) }
}

interface Claim {
  readonly text: string
  /** Whether the claim is in quotation marks, so that the chunk must contain it. */
  readonly isCertain: boolean
}

const QUOTATION =
  /“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』|"([^"\n]+)"/gu
const BLOCK_QUOTE = /(?:^[ \t]*>.*(?:\n|$))+/gm

function claimsIn(statement: string): readonly Claim[] {
  const blocks = [...statement.matchAll(BLOCK_QUOTE)].map(([block]) => {
    return { text: block.replaceAll(/^[ \t]*>+[ \t]?/gm, ''), isCertain: true }
  })
  const rest = statement.replaceAll(BLOCK_QUOTE, ' ')
  const quotations = [...rest.matchAll(QUOTATION)].map(([, ...groups]) => {
    return { text: groups.find((group) => group !== undefined) ?? '', isCertain: true }
  })
  return [...blocks, ...quotations]
    .filter(({ text }) => wordsIn(text).length >= QUOTE_WORDS_MIN)
    .slice(-CLAIMS_MAX)
}

function boldsIn(statement: string): readonly string[] {
  return [...statement.matchAll(/\*\*([^*]+)\*\*|__([^_]+)__/g)].map(([, first, second]) => {
    return first ?? second ?? ''
  })
}

/** Where the chunk contains a claim as a whole or, except for bold text, by lines and sentences. */
function standing({ text }: Claim, bolds: readonly string[], chunk: TextWords): Span | null {
  const whole = spanIn(wordsIn(text), chunk)
  if (whole !== null) return whole
  const runs: { first: number; last: number; holdsBold: boolean }[] = []
  for (const piece of claimPieces(text)) {
    const words = wordsIn(piece)
    const run = words.length < 2 ? null : runOf(words, chunk)
    if (run === null) continue
    const holdsBold = bolds.some((bold) => piece.includes(bold) || bold.includes(piece))
    const before = runs.at(-1)
    if (before !== undefined && run.first === before.last + 1) {
      before.last = run.last
      before.holdsBold ||= holdsBold
    } else {
      runs.push({ ...run, holdsBold })
    }
  }
  const marked = runs.filter(({ holdsBold }) => holdsBold)
  const chosen = (marked.length > 0 ? marked : runs).filter(({ first, last, holdsBold }) => {
    return holdsBold || last - first + 1 >= QUOTE_WORDS_MIN
  })
  if (chosen.length > 0) return longest(chosen.map((run) => cut(runSpan(run, chunk), chunk)))
  const rows = runs.map((run) => runSpan(run, chunk)).filter((span) => isRow(span, chunk))
  return rows.at(-1) ?? null
}

/** A whole row of a table is certain even if it has few words. The last one is not a header. */
function isRow({ start, end }: Span, { text }: TextWords): boolean {
  return /^\|.*\|$/.test(text.slice(start, end))
}

/** Splits a quote into pieces; dots mark omissions. */
const PIECE_END = /\n+|\s*(?:\[?…\]?|\[?\.\.\.\]?)\s*|(?<=[.!?])\s+|(?<=[。！？])/u

function claimPieces(text: string): readonly string[] {
  return text
    .split(PIECE_END)
    .map((piece) => piece.trim())
    .filter((piece) => piece !== '')
    .slice(0, PIECES_MAX)
}

function wordsIn(text: string): readonly Word[] {
  return textWords(text).words
}

function spanIn(words: readonly Word[], chunk: TextWords): Span | null {
  const run = runOf(words, chunk)
  return run === null ? null : cut(runSpan(run, chunk), chunk)
}

function cut(span: Span, { text, words }: TextWords): Span {
  if (span.end - span.start <= QUOTED_CHARS_MAX) return span
  const last = words.findLast(({ end }) => end <= span.start + QUOTED_CHARS_MAX)
  return { start: span.start, end: last?.end ?? Math.min(text.length, span.start + 1) }
}

function longest(spans: readonly Span[]): Span {
  return spans.reduce((best, span) => (span.end - span.start > best.end - best.start ? span : best))
}

/** The last paragraph before the chunk's name. */
function lastParagraph(statement: string): string {
  const paragraphs = statement.split(/\n\s*\n/).filter((part) => wordsIn(part).length > 2)
  return paragraphs.at(-1) ?? statement
}

/** The sentences of a chunk that have most in common with a statement, or its beginning. */
function bestSentences(statement: string, chunk: TextWords): Span {
  const sentences = sentencesOf(chunk)
  const wanted = new Set(wordsIn(statement).map(({ value }) => value))
  const known = sentences.map((span) => knownWords(span, chunk, wanted))
  const counts = new Map<string, number>()
  for (const word of known.flatMap((words) => [...words])) {
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  // A word that is in every sentence counts little.
  const scores = known.map((words) => {
    return [...words].reduce((sum, word) => sum + 1 / (counts.get(word) ?? 1), 0)
  })
  const best = scores.indexOf(Math.max(...scores))
  if ((scores[best] ?? 0) === 0) return beginning(sentences, chunk)
  return widened(best, sentences, scores)
}

function knownWords(
  { start, end }: Span,
  { words }: TextWords,
  wanted: ReadonlySet<string>,
): ReadonlySet<string> {
  const own = words.filter((word) => word.start >= start && word.end <= end)
  return new Set(own.map(({ value }) => value).filter((value) => wanted.has(value)))
}

/** Adds neighbouring sentences that match almost as well. */
function widened(best: number, sentences: readonly Span[], scores: readonly number[]): Span {
  const enough = (scores[best] ?? 0) * 0.75
  let { start, end } = sentences[best] ?? { start: 0, end: 0 }
  for (const index of [best + 1, best - 1]) {
    const next = sentences[index]
    if (next === undefined || (scores[index] ?? 0) < enough) continue
    const both = { start: Math.min(start, next.start), end: Math.max(end, next.end) }
    if (both.end - both.start <= CHOSEN_CHARS_MAX) ({ start, end } = both)
  }
  return { start, end }
}

function beginning(sentences: readonly Span[], { text }: TextWords): Span {
  const start = sentences[0]?.start ?? 0
  const last = sentences.findLast(({ end }) => end - start <= CHOSEN_CHARS_MAX)
  return { start, end: last?.end ?? Math.min(text.length, CHOSEN_CHARS_MAX) }
}

/** How much of a chunk is searched for sentences. */
const SENTENCE_TEXT_CHARS_MAX = 8_000

/** Sentences and lines, trimmed. One that is too long to show is cut between words. */
function sentencesOf({ text, words }: TextWords): readonly Span[] {
  const spans: Span[] = []
  const read = text.slice(0, SENTENCE_TEXT_CHARS_MAX)
  for (const { start: first, end } of sentenceSpans(read, { start: 0, end: read.length })) {
    let at = first
    for (const line of read.slice(first, end).split('\n')) {
      const shown = line.trim()
      const start = at + line.length - line.trimStart().length
      at += line.length + 1
      if (shown !== '') spans.push(shortenedSpan({ start, end: start + shown.length }, words))
    }
  }
  return spans
}

function shortenedSpan({ start, end }: Span, words: readonly Word[]): Span {
  if (end - start <= CHOSEN_CHARS_MAX) return { start, end }
  const last = words.findLast((word) => word.start >= start && word.end <= start + CHOSEN_CHARS_MAX)
  return { start, end: last?.end ?? start + CHOSEN_CHARS_MAX }
}

/** A text as words with positions, for comparison regardless of punctuation and white space. */
export interface TextWords {
  readonly text: string
  readonly words: readonly Word[]
  /** All words, separated and surrounded by spaces, so that one search finds a run of words. */
  readonly joined: string
  /** Where each word starts in `joined`. */
  readonly joinedStarts: readonly number[]
}

interface Word {
  /** In lower case. */
  readonly value: string
  readonly start: number
  readonly end: number
}

interface WordRun {
  readonly first: number
  readonly last: number
}

/** In scripts without spaces, each character counts as a word. */
const WORD_RUN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{N}\p{M}]+/gu

/** The target of a Markdown link, which is not part of the text. */
const LINK_TARGET = /\]\([^()\s]*\)/g

/** How much of a text is compared. */
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

/** Where these words occur consecutively in a text; null if nowhere. */
function runOf(words: readonly Word[], within: TextWords): WordRun | null {
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

/** Characters that belong to the word next to them. */
const BEFORE_WORD = /[$€£¥₹±+−#@-]$/u
const AFTER_WORD = /^[%°‰€]/u
const SENTENCE_END = /^[.!?…。！？]+/u
/** If a quote starts with an opening mark, the closing mark is included, and vice versa. */
const PAIRS = [
  ['**', '**'],
  ['__', '__'],
  ['`', '`'],
  ['"', '"'],
  ['“', '”'],
  ['(', ')'],
  ['[', ']'],
] as const

/** The text from the first to the last word of a run, with the characters that belong to them. */
function runSpan(run: WordRun, { text, words }: TextWords): Span {
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

/** Extends a span to include the characters at both ends of a table row. */
function wholeRow({ start, end }: Span, text: string): Span {
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  const after = text.slice(end).split('\n', 1)[0] ?? ''
  const isRow = text.slice(start, end).includes('|')
  const opening = isRow && /^\s*\|\W{0,9}$/.test(before) ? before.trimStart().length : 0
  const closing = isRow && /^\W{0,9}\|\s*$/.test(after) ? after.trimEnd().length : 0
  return { start: start - opening, end: end + closing }
}
