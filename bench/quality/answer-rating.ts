/** Rates agents' answers by what they quote. */
import type { Citation } from '../../src/core/domain/agents/completion-event.ts'
import type { AskedQuestion, Gold, GoldSpan } from './answer-cases.ts'

/** The parts of an agent's answer that are rated. */
export interface RatedAnswer {
  /** Quotes in the order of the answer. Without any, the answer says that it found nothing. */
  readonly quotes: readonly Quote[]
}

export interface Quote {
  readonly documentId: string
  readonly text: string
  /** Its bold sentence, which is missing if the quote has none. */
  readonly marked?: string
  /** Its position in the document, or null if it is unknown. */
  readonly place: { readonly start: number; readonly end: number } | null
}

export interface Rates {
  readonly count: number
  /** Shares of the questions. */
  readonly goldMarked: number
  readonly goldPassage: number
  readonly goldFirst: number
  readonly goldInThree: number
  readonly nothingFound: number
  /** The number of characters in the median quote and in the longest. */
  readonly quoteChars: number
  readonly quoteCharsMax: number
}

export function ratesOf(answers: readonly (RatedAnswer & Pick<AskedQuestion, 'gold'>)[]): Rates {
  const share = (count: number) => (answers.length === 0 ? 0 : count / answers.length)
  const counted = (holds: (answer: (typeof answers)[number]) => boolean) => {
    return share(answers.filter(holds).length)
  }
  const lengths = answers
    .flatMap(({ quotes }) => quotes.map(({ text }) => text.length))
    .toSorted((a, b) => a - b)
  return {
    count: answers.length,
    goldMarked: counted(({ gold, quotes }) => isQuoted(gold, markedIn(quotes))),
    goldPassage: counted(({ gold, quotes }) => quotes[0]?.documentId === gold?.documentId),
    goldFirst: counted(({ gold, quotes }) => isQuoted(gold, quotes.slice(0, 1))),
    goldInThree: counted(({ gold, quotes }) => isQuoted(gold, quotes.slice(0, 3))),
    nothingFound: counted(({ quotes }) => quotes.length === 0),
    quoteChars: lengths[Math.floor(lengths.length / 2)] ?? 0,
    quoteCharsMax: lengths.at(-1) ?? 0,
  }
}

/** Returns the bold sentence of the first quote. */
function markedIn([first]: readonly Quote[]): readonly Quote[] {
  if (first === undefined) return []
  return [{ ...first, text: first.marked ?? first.text, place: null }]
}

/** Whether one of the quotes contains the answer at its position. */
export function isQuoted(gold: Gold | null, quotes: readonly Quote[]): boolean {
  if (gold === null) return false
  return quotes.some(({ documentId, text, place }) => {
    if (documentId !== gold.documentId) return false
    return gold.spans.some((span) => {
      if (place === null) return holds(text, gold.content, span)
      return place.start <= span.start && span.end <= place.end
    })
  })
}

/**
 * Compares only letters and digits, because an answer may have other white space and punctuation.
 */
function holds(quote: string, content: string, { start, end }: GoldSpan): boolean {
  const whole = bare(content)
  const [from, to] = [bare(content.slice(0, start)).length, bare(content.slice(0, end)).length]
  const lines = quote
    .split('\n')
    .map(bare)
    .filter((line) => line.length >= BARE_CHARS_MIN)
  return lines.some((line) => {
    const at = whole.indexOf(line)
    return at !== -1 && at <= from && to <= at + line.length
  })
}

/** A shorter text does not count as a quote. */
const BARE_CHARS_MIN = 3

function bare(text: string): string {
  return text.normalize('NFC').replace(/[^\p{L}\p{N}]/gu, '')
}

/** Returns the quotes in an answer: lines that begin with `>`, up to their chunk in square brackets. */
export function quotesIn(
  content: string,
  documentOf: (chunkId: string) => string | undefined,
): readonly Quote[] {
  const parts = content.split(/\[([^\s[\]]+:\d+of\d+:\d+to\d+)\]/)
  return parts.flatMap((part, index) => {
    const chunkId = parts[index + 1]
    if (index % 2 === 1 || chunkId === undefined) return []
    const documentId = documentOf(chunkId)
    const text = part
      .split('\n')
      .flatMap((line) => (line.startsWith('>') ? [line.replace(/^>\s?/, '')] : []))
      .join('\n')
    const marked = /\*\*([\s\S]+?)\*\*/.exec(text)?.[1]
    const mark = marked === undefined ? {} : { marked }
    return documentId === undefined ? [] : [{ documentId, text, ...mark, place: null }]
  })
}

/** Returns the quotes from an answer over HTTP. */
export function quotesOf(citations: readonly Citation[]): readonly Quote[] {
  return citations.map(({ document_id, text, start, end }) => {
    const place = start === null || end === null ? null : { start, end }
    return { documentId: document_id, text, place }
  })
}
