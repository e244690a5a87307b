import { type EvidenceLevel, pageAt } from '../../../core/domain/agents/completion-event.ts'
import { shortened } from '../../../core/short-text.ts'
import { parseCsv } from '../../../core/text/csv.ts'
import { type Span, sentenceSpans, trimmedSpan } from '../../../core/text/words.ts'
import type { Passage, RankedUnit, Ranking, StretchPiece, UnitSite } from './answer-unit.ts'
import { keywords } from './keywords.ts'
import { csvIn } from './observed-passages.ts'
import type { RowAnswer } from './row-questions.ts'
import { hasThreeWords, isQuestion, POINTS_BACK, pieceOf, QUOTE_CHARS_MAX } from './units.ts'
import { bare, COMPARES, optionPattern, optionsIn } from './wanted-form.ts'

export interface Findings {
  readonly question: string
  readonly passages: readonly Passage[]
  readonly ranking: Ranking
  readonly names: readonly string[]
  readonly searched: readonly string[]
  readonly failures: readonly { readonly name: string; readonly message: string }[]
  /** The documents that a question about an option names, whose passages these are. */
  readonly documents: readonly string[]
}

export interface WrittenAnswer {
  readonly text: string
  readonly evidence: EvidenceLevel
  /** Quotes that are cited but not part of the text. */
  readonly further: string
}

/** One sentence, then the quoted passage; or says that nothing was found. */
export function writtenAnswer(findings: Findings): WrittenAnswer {
  const { question, ranking, searched, failures } = findings
  const failed = [...Map.groupBy(failures, ({ message }) => message)].map(([message, those]) => {
    return `Searching ${listedBases(those.map(({ name }) => name))} failed: ${message}`
  })
  const answered = searched.filter((name) => failures.every((failure) => failure.name !== name))
  if (answered.length === 0) {
    const text = failed.length > 0 ? failed.join('\n') : nothingToSearch(findings)
    return { text, evidence: 'none', further: '' }
  }
  const missing = missingNames(findings)
  const isAnswered = ranking.evidence !== 'none' && missing.length === 0
  const { shown, further } = isAnswered
    ? quotesOf(question, ranking.units)
    : { shown: [], further: [] }
  const evidence = shown.length === 0 ? 'none' : ranking.evidence
  const where = `${listedBases(answered)}${unsearched(findings)}`
  const unknown = notThere([...new Set([...missing, ...ranking.unknownNames])], findings)
  const openings: Readonly<Record<EvidenceLevel, string>> = {
    answer: `This is what I found in ${where}:`,
    closest: `I am not sure that this is answered in ${where}${unknown}. The closest passage is:`,
    none: `I found nothing relevant to this question in ${where}${unknown}. ${nextStep(findings)}`,
  }
  const text = [openings[evidence], ...shown, ...failed].join('\n\n')
  return { text, evidence, further: further.join('\n\n') }
}

function listedBases(names: readonly string[]): string {
  if (names.length <= NAMES_TOLD) return names.join(', ')
  return `${names.length} knowledge bases`
}

const NAMES_TOLD = 10

/** A search drops no chunk for low relevance, so only empty knowledge bases return nothing. */
function nextStep({ passages, failures }: Findings): string {
  if (passages.length === 0 && failures.length === 0) {
    return 'Nothing is stored there yet: insert documents, or wait until a running insert has stored some.'
  }
  return 'Use words from the documents, or add documents that contain the answer.'
}

function notThere(names: readonly string[], { documents }: Findings): string {
  const where = documents.length === 0 ? '' : ` in ${documents.join(', ')}`
  return names.length === 0 ? '' : `: no passage found${where} mentions ${names.join(', ')}`
}

/** Names that have no synonyms: options, camel case or underscores, file names, abbreviations. */
const NAMED_THING =
  /`([^`]{2,60})`|(?<![\p{L}\p{N}-])(--[\p{L}\p{N}][\p{L}\p{N}-]+|[\p{L}\p{N}]*\p{Ll}\p{Lu}[\p{L}\p{N}]*|[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+|\p{L}{2,}\.(?:js|ts|py|rs|net|io|md|json|toml|ya?ml)|\p{Lu}{3,})(?:'?s)?(?![\p{L}\p{N}])/gu

/** `rsync` in "What does -v do in rsync?" Options of other programs do not answer that. */
const PROGRAM =
  /\b(?:in|of|for|with|von|bei|mit)\s+(?:the\s+)?([\p{L}\p{N}][\p{L}\p{N}@/._-]*[\p{L}\p{N}])(?:\s+(?:do|mean|command))?[\s?.!]*$/u

/** Names in the question that no passage mentions; the passages probably answer another one. */
function missingNames({ question, passages, documents }: Findings): readonly string[] {
  const options = documents.length === 0 ? [] : optionsIn(question)
  const isMissing = (option: string) => {
    return passages.every(({ text }) => !optionPattern(option).test(text))
  }
  if (options.length > 0 && options.every(isMissing)) return options
  const told = passages.map((one) => `${one.documentId} ${one.heading} ${one.text}`).join(' ')
  const [, program = ''] = (optionsIn(question).length > 0 && PROGRAM.exec(question)) || []
  // At the start of a word, because "for synchronization" does not mention `rsync`.
  if (!new RegExp(`(?<![\\p{L}\\p{N}])${program}`, 'iu').test(told)) return [program]
  const text = bare(told)
  const names = [...question.matchAll(NAMED_THING)].flatMap(([, one, other]) => one ?? other ?? [])
  return [...new Set(names)].filter((name) => bare(name) !== '' && !text.includes(bare(name)))
}

function nothingToSearch({ names }: Findings): string {
  if (names.length === 0) return 'There are no knowledge bases that I may search.'
  return `I could not search ${listedBases(names)}: no tool calls were left.`
}

function unsearched({ names, searched, failures }: Findings): string {
  const failedToo = failures.filter(({ name }) => !searched.includes(name))
  const rest = names.length - searched.length - failedToo.length
  return rest > 0 ? ` (${rest} more knowledge bases were not searched)` : ''
}

const TABLES_TOLD = 20

/** What the agent reads, and how to ask. */
export function agentAnswer(names: readonly string[], tables: readonly string[]): string {
  return [
    'I am the built-in agent. I answer from this data:',
    toldNames([...names, ...tables]),
    'Ask about one thing at a time, in words that the documents use: I quote the passage that answers it. I also count, as in "How many documents are there?".',
  ].join('\n\n')
}

function toldNames(names: readonly string[]): string {
  const told = names.slice(0, TABLES_TOLD).map((name) => `- ${name}`)
  const rest = names.length - told.length
  return [...told, ...(rest > 0 ? [`- and ${rest} more`] : [])].join('\n')
}

/** Only a language model can write the statements that tables need. */
export function tablesAnswer(tables: readonly string[]): string {
  return [
    'I am the built-in model: I search knowledge bases and quote them, and this agent reads only tables. Questions over ' +
      'tables, apart from simple ones for numbers of rows, need a chat model that writes SQL: name one as `model` of this ' +
      'agent, or for all agents with ' +
      'EIDER_CHAT_PROVIDER and EIDER_CHAT_MODEL. With SQL you can read these tables now:',
    toldNames(tables),
  ].join('\n\n')
}

const ROWS_SHOWN = 10
const SHOWN_CELL_CHARS_MAX = 60

/** null if there are no rows, so that a search is better. @param observation null if not run */
export function rowsAnswer(
  { statement, source }: RowAnswer,
  observation: string | null,
): string | null {
  if (statement === null || observation === null) {
    const columns = source.columns.map(({ name, type }) => `${name} (${type})`).join(', ')
    return `This asks for rows, and I know no statement for it; a chat model can write one. The columns of ${source.name} are: ${columns}.`
  }
  const rows = csvIn(observation)
  const [header, ...values] = rows === null ? [] : parseCsv(rows)
  const shown = values.filter(
    (row) => row.length === header?.length && row.some((cell) => cell !== ''),
  )
  if (header === undefined || shown.length === 0) return null
  const more = shown.length > ROWS_SHOWN ? ['\nand more.'] : []
  return [
    [
      markdownRow(header),
      `|${'---|'.repeat(header.length)}`,
      ...shown.slice(0, ROWS_SHOWN).map(markdownRow),
      ...more,
    ].join('\n'),
    'This is the result of a statement that ran just now:',
    `\`\`\`sql\n${statement}\n\`\`\``,
  ].join('\n\n')
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => plainCell(cell)).join(' | ')} |`
}

function plainCell(cell: string): string {
  return shortened(cell.replace(/\s+/g, ' ').replaceAll('|', '\\|'), SHOWN_CELL_CHARS_MAX)
}

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
function quotesOf(question: string, units: readonly RankedUnit[]) {
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
  const whole = kind === 'sentence' || kind === 'item' ? withNeighbours(unit, led, units) : led
  const piece = pieceOf(stretch, span)
  const clipped = { start: Math.max(whole.start, piece.start), end: Math.min(whole.end, piece.end) }
  const isHeld = lead !== null && lead.start < clipped.end && clipped.start < lead.end
  const isApart =
    lead !== null && !isBeside && !isHeld && lead.start >= piece.start && lead.end <= piece.end
  return { unit, piece, span: trimmedSpan(text, clipped), lead: isApart ? lead : null }
}

function isOnlyMarks(between: string): boolean {
  return (
    /^[\s>]*(([-*+•]|\d{1,3}[.)])\s+)?(`{3,}|~{3,})?[\w-]*\s*$/.test(between) && between.length < 40
  )
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

/** In words: of an entry's sentences, others may repeat its name more often. */
const DEFAULT_WORTH = 5

/** The sentence with most words of the question, but not a label such as `Rent.` or a question. */
function markedSpan({ unit }: Quote, asked: ReadonlySet<string>): Span {
  const { span, stretch } = unit.site
  const worth = ({ start, end }: Span) => {
    const text = stretch.text.slice(start, end)
    const held = new Set(keywords(text).filter((word) => asked.has(word))).size
    const isDefault = asked.has('default') && /default/i.test(text)
    return hasThreeWords(text) && !isQuestion(text) ? held + (isDefault ? DEFAULT_WORTH : 0) : -1
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
