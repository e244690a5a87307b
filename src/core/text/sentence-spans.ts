/** A part of a text: from `start` up to `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The end of a sentence with the quotes and brackets that close it, and what must follow it. */
const SENTENCE_END = /(?<![.!?…])[.!?…]+["'”’»)\]*_]*(?=\s+[^\s\p{Ll}])|[。！？｡][」』”’）]*/gu
/** A full stop after one of these or after a single letter does not end a sentence. */
const ABBREVIATION = new RegExp(
  `(?:^|[\\s(])(?:\\p{L}|${[
    'e\\.g|i\\.e|etc|cf|vs|al|approx|no|nr|fig|eq|vol',
    'dept|dr|mr|mrs|ms|prof|st|inc|ltd|co|jr|sr',
  ].join('|')})\\.$`,
  'iu',
)

/** The sentences of running text, whose lines may break anywhere, without surrounding white space. */
export function sentenceSpans(text: string, span: Span): readonly Span[] {
  const part = text.slice(span.start, span.end)
  const spans: Span[] = []
  let start = 0
  const add = (end: number) => {
    const trimmed = trimmedSpan(text, { start: span.start + start, end: span.start + end })
    if (trimmed.end > trimmed.start) spans.push(trimmed)
    start = end
  }
  for (const match of part.matchAll(SENTENCE_END)) {
    const end = match.index + match[0].length
    if (match[0] === '.' && ABBREVIATION.test(part.slice(Math.max(start, end - 12), end))) continue
    add(end)
  }
  add(part.length)
  return spans
}

/** Without leading and trailing white space. */
export function trimmedSpan(text: string, { start, end }: Span): Span {
  let [from, to] = [start, end]
  while (from < to && isSpace(text, from)) from += 1
  while (to > from && isSpace(text, to - 1)) to -= 1
  return { start: from, end: to }
}

function isSpace(text: string, at: number): boolean {
  return /\s/.test(text.charAt(at))
}
