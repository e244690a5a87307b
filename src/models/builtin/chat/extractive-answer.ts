import type { EvidenceLevel } from '../../../core/domain/agents/completion-event.ts'
import { parseCsv } from '../../../core/domain/shown-values.ts'
import { shortened } from '../../../core/short-text.ts'
import type { Passage, Ranking } from './answer-unit.ts'
import { csvIn } from './observed-passages.ts'
import { quotesOf } from './quotes.ts'
import type { RowAnswer } from './row-questions.ts'
import { bare } from './wanted-form.ts'

export interface Findings {
  readonly question: string
  readonly passages: readonly Passage[]
  readonly ranking: Ranking
  readonly names: readonly string[]
  readonly searched: readonly string[]
  readonly failures: readonly { readonly name: string; readonly message: string }[]
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
  const missing = missingNames(question, findings.passages)
  const isAnswered = ranking.evidence !== 'none' && missing.length === 0
  const { shown, further } = isAnswered
    ? quotesOf(question, ranking.units)
    : { shown: [], further: [] }
  const evidence = shown.length === 0 ? 'none' : ranking.evidence
  const where = `${listedBases(answered)}${unsearched(findings)}`
  const openings: Readonly<Record<EvidenceLevel, string>> = {
    answer: `This is what I found in ${where}:`,
    closest: `I am not sure that this is answered in ${where}. The closest passage is:`,
    none: `I found nothing relevant to this question in ${where}${notThere(missing)}. ${nextStep(findings)}`,
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

function notThere(names: readonly string[]): string {
  return names.length === 0 ? '' : `: nothing there mentions ${names.join(', ')}`
}

/** Names that have no synonyms: options, camel case or underscores, file names, abbreviations. */
const NAMED_THING =
  /`([^`]{2,60})`|(?<![\p{L}\p{N}-])(--[\p{L}\p{N}][\p{L}\p{N}-]+|[\p{L}\p{N}]*\p{Ll}\p{Lu}[\p{L}\p{N}]*|[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+|\p{L}{2,}\.(?:js|ts|py|rs|net|io|md|json|toml|ya?ml)|\p{Lu}{3,})(?:'?s)?(?![\p{L}\p{N}])/gu

/** Names in the question that no passage mentions; the passages probably answer another one. */
function missingNames(question: string, passages: readonly Passage[]): readonly string[] {
  const text = bare(passages.map((one) => `${one.documentId} ${one.heading} ${one.text}`).join(' '))
  const names = [...question.matchAll(NAMED_THING)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  )
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

/** Only a language model can write the statements that tables need. */
export function tablesAnswer(tables: readonly string[]): string {
  const told = tables.slice(0, TABLES_TOLD).map((table) => `- ${table}`)
  const rest = tables.length - told.length
  return [
    'I am the built-in model: I search knowledge bases and quote them, and this agent reads only tables. Questions over ' +
      'tables, apart from simple ones for numbers of rows, need a chat model that writes SQL: name one as `model` of this ' +
      'agent, or for all agents with ' +
      'EIDER_CHAT_PROVIDER and EIDER_CHAT_MODEL. With SQL you can read these tables now:',
    [...told, ...(rest > 0 ? [`- and ${rest} more`] : [])].join('\n'),
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
