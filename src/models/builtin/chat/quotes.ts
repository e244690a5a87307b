/** Passages as Markdown quotes, with the answering sentence in bold and the source below. */
import { pageAt } from '../../../core/domain/agents/completion-event.ts'
import { type Span, sentenceSpans, trimmedSpan } from '../../../core/text/words.ts'
import type { RankedUnit, StretchPiece, UnitSite } from './answer-unit.ts'
import { COMPARES } from './definitions.ts'
import { keywords } from './keywords.ts'
import { hasThreeWords, isQuestion, POINTS_BACK, pieceOf, QUOTE_CHARS_MAX } from './units.ts'

interface Quote {
  readonly unit: RankedUnit
  readonly piece: StretchPiece
  /** The span of the whole quote in the stretch. */
  readonly span: Span
  /** Shown separately above the quote: a table's header or an option's name. */
  readonly lead: Span | null
}

const QUOTES_MAX = 3
/** How many quotes a comparison shows, one for each thing. */
const COMPARED = 2
const SENTENCES_MAX = 3
/** A unit that scores this much lower than the best is about something else. */
const SCORE_GAP_MAX = 4
/** Matches two questions, or one with two question words. */
const SEVERAL =
  /\?.+\?|\b(?:and|und|y|et) (?:what|which|who|when|where|why|how|was|welche\w*|wer|wann|wo|warum|wie)\b/iu

/**
 * Without repetition. @returns `shown`: one quote, or several if asked; `further`: the next best
 */
export function quotesOf(question: string, units: readonly RankedUnit[]) {
  const asked = new Set(keywords(question))
  const chosen: Quote[] = []
  const compares = COMPARES.test(question)
  for (const unit of compares ? byDocument(units) : units) {
    const best = chosen[0]?.unit.score ?? unit.score
    const isFar = unit.score < best - SCORE_GAP_MAX && !(compares && chosen.length < COMPARED)
    if (chosen.length >= QUOTES_MAX || isFar) break
    // A unit without the question's words may be a paraphrase, but not if there is a better answer.
    if (chosen.length > 0 && !unit.hasWords) continue
    const quote = quoteOf(unit, units)
    if (repeats(quote, asked) || chosen.some((one) => overlap(one, quote))) continue
    chosen.push(quote)
  }
  const texts = chosen.map((quote) => `${shownQuote(quote, asked)}\n${quoteSource(quote)}`)
  const shownCount = SEVERAL.test(question) ? QUOTES_MAX : compares ? COMPARED : 1
  return { shown: texts.slice(0, shownCount), further: texts.slice(shownCount) }
}

/** Sorts the best unit of each document to the front. */
function byDocument(units: readonly RankedUnit[]): readonly RankedUnit[] {
  const documents = units.map(({ passage }) => passage.documentId)
  const isBest = (_: RankedUnit, at: number) => documents.indexOf(documents[at] ?? '') === at
  return [...units.filter(isBest), ...units.filter((unit, at) => !isBest(unit, at))]
}

/** The unit with its context, within one chunk and the maximum length of a quote. */
function quoteOf(unit: RankedUnit, units: readonly RankedUnit[]): Quote {
  const { stretch, span, kind, lead } = unit.site
  const { text } = stretch
  const isBeside =
    lead !== null && lead.end <= span.start && isOnlyMarks(text.slice(lead.end, span.start))
  const led =
    isBeside && span.end - lead.start <= QUOTE_CHARS_MAX
      ? { start: lead.start, end: span.end }
      : span
  const near = kind === 'sentence' || kind === 'item' ? withNeighbours(unit, led, units) : led
  const piece = pieceOf(stretch, span)
  const whole = kind === 'row' || kind === 'code' ? near : withRest(unit, near, piece.end)
  const clipped = { start: Math.max(whole.start, piece.start), end: Math.min(whole.end, piece.end) }
  const isHeld = lead !== null && lead.start < clipped.end && clipped.start < lead.end
  const isApart =
    lead !== null && !isBeside && !isHeld && lead.start >= piece.start && lead.end <= piece.end
  return { unit, piece, span: trimmedSpan(text, clipped), lead: isApart ? lead : null }
}

function isOnlyMarks(between: string): boolean {
  return (
    between.length < 40 && /^[\s>]*(([-*+•]|\d{1,3}[.)])\s+)?(`{3,}|~{3,})?[\w-]*\s*$/.test(between)
  )
}

const ENDED = /[\p{Sentence_Terminal}][\p{Pe}\p{Pf}"'*_`]*\s*$/u
const CODE_BELOW = /^[ \t]*\n\s*?(`{3,}|~{3,})[^\n]*\n[\s\S]*?\n[ \t]*\1(?=\s|$)/
/** Up to the next heading, list, table or quote. */
const TEXT_BELOW = /^(?:\s*\n[ \t]*\n(?![ \t]*(?:[-*+>#|~`]|\d+[.)]\s))[^\n]+(?:\n(?!\s)[^\n]+)*)+/

/** A text that breaks off, as before code or below a prototype, goes on in the blocks below. */
function withRest({ site }: RankedUnit, { start, end }: Span, until: number): Span {
  const { text } = site.stretch
  if (ENDED.test(text.slice(start, end))) return { start, end }
  const limit = Math.min(until, start + QUOTE_CHARS_MAX)
  const rest = text.slice(end, limit)
  const [code] = CODE_BELOW.exec(rest) ?? []
  if (code !== undefined) return { start, end: end + code.length }
  const [below = ''] = (site.kind === 'sentence' && TEXT_BELOW.exec(rest)) || []
  const sentences = [...sentenceSpans(text, { start: end, end: end + below.length })]
  const last = sentences.findLast((one) => one.end < limit || limit === until)
  return { start, end: last?.end ?? end }
}

/** An answer is often next to the sentence that repeats the question. */
function withNeighbours({ site }: RankedUnit, span: Span, units: readonly RankedUnit[]): Span {
  const { text } = site.stretch
  const worthOf = (one: Span) => worthOfSpan(one, site, units)
  let whole = span
  let pointsBack = POINTS_BACK.test(text.slice(span.start, span.start + 40))
  let count = [...sentenceSpans(text, span)].length
  while (count < SENTENCES_MAX) {
    const { start, end } = whole
    const before = [...sentenceSpans(text, { start: Math.min(site.from, start), end: start })].at(
      -1,
    )
    const [after] = sentenceSpans(text, { start: end, end: Math.max(end, site.until) })
    const fits = [before, after]
      .filter((one) => one !== undefined)
      .filter((one) => {
        const isLead = one === after && /:[*_"'”’)]*$/.test(text.slice(one.start, one.end))
        return !isLead && Math.max(end, one.end) - Math.min(start, one.start) <= QUOTE_CHARS_MAX
      })
    const [best] = fits.toSorted((a, b) => worthOf(b) - worthOf(a) || b.start - a.start)
    const next = pointsBack && before !== undefined && fits.includes(before) ? before : best
    if (next === undefined) break
    whole = { start: Math.min(start, next.start), end: Math.max(end, next.end) }
    pointsBack = false
    count += 1
  }
  return whole
}

function worthOfSpan({ start, end }: Span, { stretch }: UnitSite, units: readonly RankedUnit[]) {
  return units.reduce((best, { site, score }) => {
    const isThere = site.stretch === stretch && site.span.start < end && start < site.span.end
    return isThere ? Math.max(best, score) : best
  }, Number.NEGATIVE_INFINITY)
}

/** Whether a quote contains nothing but the question's own words. */
function repeats({ unit, span }: Quote, asked: ReadonlySet<string>): boolean {
  const { stretch } = unit.site
  const own = keywords(stretch.text.slice(span.start, span.end))
  return own.length > 0 && own.every((word) => asked.has(word))
}

function overlap(a: Quote, b: Quote): boolean {
  const [first, second] = [quoteText(a), quoteText(b)].map((text) => text.replace(/\s+/g, ' '))
  if (first === undefined || second === undefined) return false
  if (first.includes(second) || second.includes(first)) return true
  const isOneText = a.unit.site.stretch === b.unit.site.stretch
  return isOneText && a.span.start < b.span.end && b.span.start < a.span.end
}

function quoteText({ unit, span }: Quote): string {
  return unit.site.stretch.text.slice(span.start, span.end)
}

/** A Markdown quote with the answering sentence in bold. */
function shownQuote(quote: Quote, asked: ReadonlySet<string>): string {
  const { unit, lead, span } = quote
  const { text } = unit.site.stretch
  const before = lead === null ? [] : [text.slice(lead.start, lead.end).trim()]
  switch (unit.site.kind) {
    case 'row': {
      const columns = before.flatMap((header) => [header, rulerFor(header)])
      return quoted([...columns, shortenedQuote(quoteText(quote))].join('\n'))
    }
    case 'code':
      return quoted([...before, fencedQuote(quote)].join('\n'))
    case 'list':
      return quoted([...before, quoteText(quote)].join('\n'))
    default: {
      const marked = markedSpan(quote, asked)
      const [start, last] = [Math.max(marked.start, span.start), Math.min(marked.end, span.end)]
      const [said, rest] = [text.slice(start, last), text.slice(last, span.end)]
      // Bold text that ends with a mark is closed only before a space, which Chinese has none of.
      const at = /^[^\s\p{P}\p{S}]/u.test(rest) ? said.search(/[\p{P}\p{S}]*$/u) : said.length
      const parts = [text.slice(span.start, start), bold(said.slice(0, at)), said.slice(at), rest]
      return quoted([...before, shortenedQuote(parts.join(''))].map(evened).join('\n'))
    }
  }
}

/** As much as five words of the question: another sentence may repeat the entry's name. */
const DEFAULT_WORTH = 5

/** The sentence with most words of the question, but no label, question or name of an entry. */
function markedSpan({ unit }: Quote, asked: ReadonlySet<string>): Span {
  const { span, stretch } = unit.site
  const worth = ({ start, end }: Span) => {
    const text = stretch.text.slice(start, end)
    const held = new Set(keywords(text).filter((word) => asked.has(word))).size
    const isDefault = asked.has('default') && /default/i.test(text)
    const isName = /^[`*]/.test(text) && !ENDED.test(text)
    return hasThreeWords(text) && !isQuestion(text) && !isName
      ? held + (isDefault ? DEFAULT_WORTH : 0)
      : -1
  }
  const sentences = [...sentenceSpans(stretch.text, span)]
  const [best = span] = sentences.toSorted((a, b) => worth(b) - worth(a))
  return best
}

/** Removes bold markers inside, which would end the bold text. */
function bold(text: string): string {
  const plain = text.replace(/\*\*|__/g, '')
  return /[\p{L}\p{N}]/u.test(plain) ? `**${plain}**` : text
}

function fencedQuote(quote: Quote): string {
  const text = quoteText(quote)
  const body = /(?:`{3,}|~{3,})/.test(text) ? `${text}\n\`\`\`` : `\`\`\`\n${text}\n\`\`\``
  return body.replace(/^(\s*)(?:`{3,}|~{3,})/gm, '$1```')
}

function rulerFor(header: string): string {
  const columns = header.replace(/^\s*\||\|\s*$/g, '').split('|').length
  return `|${'---|'.repeat(columns)}`
}

function quoted(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${line.replace(/^\s*>\s?/, '').trimEnd()}`.trimEnd())
    .join('\n')
}

/** Removes indentation, and the gaps in justified lines. */
function evened(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim().replace(/[ \t]{2,}/g, ' '))
    .join('\n')
}

/** Truncates a quote with a mark, without splitting a surrogate pair. */
function shortenedQuote(text: string): string {
  if (text.length <= QUOTE_CHARS_MAX + 8) return text
  const cut = text.slice(0, QUOTE_CHARS_MAX).replace(/[\uD800-\uDBFF]$|\s+\S{0,30}$/, '')
  return `${cut}${cut.split('**').length % 2 === 0 ? '**' : ''} …`
}

const HEADING_CHARS_MAX = 80

/** The document, page and heading, then the id for citing it. */
function quoteSource({ unit, piece, span }: Quote): string {
  const { documentId, pages, chunkId } = piece.passage
  const page = pages === null ? '' : `page ${pageAt(pages, span.start - piece.start)}`
  const heading = unit.site.heading.slice(0, HEADING_CHARS_MAX)
  const where = [documentId, page].filter((part) => part !== '')
  const parts = [where.join(', '), heading].filter((part) => part !== '')
  return ['—', parts.join(' › '), `[${chunkId}]`].filter((part) => part !== '').join(' ')
}
