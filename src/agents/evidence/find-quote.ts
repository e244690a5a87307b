/** Which words of a chunk an answer quotes, or leans on. */

/** Of a sentence chosen from the chunk. */
const CHOSEN_CHARS_MAX = 400
/** Of a quote. */
const QUOTED_CHARS_MAX = 2_000
/** Fewer words within quotation marks are a name or a term, not a quote. */
const QUOTE_WORDS_MIN = 4
/** This many words of an answer found in a row in a chunk cannot be a coincidence. */
const VERBATIM_WORDS_MIN = 6

/** For one statement: those nearest to the chunk's name, with parts of one of them. */
const CLAIMS_MAX = 10
const PIECES_MAX = 40

/**
 * `quoted`: the answer's own words. `chosen`: the part of the chunk that fits the statement best. `none`: the answer claims
 * words that are not there.
 */
type FoundQuote =
  | { readonly kind: 'quoted' | 'chosen'; readonly span: Span }
  | { readonly kind: 'none' }

/** @param statement the answer's text before it names the chunk */
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
  /** It is in quotation marks: then it must be found. */
  readonly isCertain: boolean
}

const QUOTATION =
  /“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』|"([^"\n]+)"/gu
const BLOCK_QUOTE = /(?:^[ \t]*>.*(?:\n|$))+/gm

/** The quotations in the answer. */
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

/** Where a claim is found: completely, or those of its lines and sentences that are, apart from its bold parts. */
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
  return chosen.length === 0 ? null : longest(chosen.map((run) => cut(runSpan(run, chunk), chunk)))
}

/** Omissions in a quote are written as dots. */
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

/** The text right before the chunk's name. */
function lastParagraph(statement: string): string {
  const paragraphs = statement.split(/\n\s*\n/).filter((part) => wordsIn(part).length > 2)
  return paragraphs.at(-1) ?? statement
}

/** The sentences of a chunk that share most with a statement, or its beginning if none does. */
function bestSentences(statement: string, chunk: TextWords): Span {
  const sentences = sentencesOf(chunk)
  const wanted = new Set(wordsIn(statement).map(({ value }) => value))
  const known = sentences.map((span) => knownWords(span, chunk, wanted))
  const counts = new Map<string, number>()
  for (const word of known.flatMap((words) => [...words])) {
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  // A word in every sentence says little.
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

/** Adds neighbouring sentences that match nearly as well. */
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

const SENTENCES = new Intl.Segmenter(undefined, { granularity: 'sentence' })
/** The part of a chunk in which sentences are searched. */
const SENTENCE_TEXT_CHARS_MAX = 8_000

/** Sentences and lines, without the white space around them; a longer one than can be shown is cut between words. */
function sentencesOf({ text, words }: TextWords): readonly Span[] {
  const spans: Span[] = []
  const read = text.slice(0, SENTENCE_TEXT_CHARS_MAX)
  for (const { segment, index } of SENTENCES.segment(read)) {
    let at = index
    for (const line of segment.split('\n')) {
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

/** A text as its words, each with its position, so that two texts can be compared despite different marks and white space. */
export interface TextWords {
  readonly text: string
  readonly words: readonly Word[]
  /** All words in a row, each between two blanks: finding a run of words is one search. */
  readonly joined: string
  /** The start of each word in `joined`. */
  readonly joinedStarts: readonly number[]
}

interface Word {
  /** Without case. */
  readonly value: string
  readonly start: number
  readonly end: number
}

/** From the first of these words to the last. */
interface WordRun {
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
