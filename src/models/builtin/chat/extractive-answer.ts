import type { EvidenceLevel } from '../../../core/domain/agents/completion-event.ts'
import { shortened } from '../../../core/short-text.ts'
import { parseCsv } from '../../../core/text/csv.ts'
import type { Passage, Ranking } from './answer-unit.ts'
import { bare } from './keywords.ts'
import { csvIn } from './observed-passages.ts'
import { quotesOf } from './quotes.ts'
import type { RowAnswer } from './row-questions.ts'
import { optionPattern, optionsIn } from './wanted-form.ts'

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
  // `source of` does not mention the CEO.
  const isTold = (name: string) => {
    if (!/^\p{Lu}+$/u.test(name)) return text.includes(bare(name))
    return told.includes(name) || new RegExp(`(?<!\\p{L})${name}`, 'iu').test(told)
  }
  return [...new Set(names)].filter((name) => bare(name) !== '' && !isTold(name))
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
