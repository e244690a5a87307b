import type { EvidenceLevel } from '../../../core/domain/agents/completion-event.ts'
import { parseCsv } from '../../../core/domain/shown-values.ts'
import { shortened } from '../../../core/short-text.ts'
import type { Passage, Ranking } from './answer-unit.ts'
import { csvIn } from './observed-passages.ts'
import { quotesOf } from './quotes.ts'
import type { RowAnswer } from './row-questions.ts'
import { bare } from './wanted-form.ts'

/** The searches for an answer, and their results. */
export interface Findings {
  readonly question: string
  /** Everything that was read. */
  readonly passages: readonly Passage[]
  readonly ranking: Ranking
  /** All knowledge bases that there are. */
  readonly names: readonly string[]
  /** The searched knowledge bases. */
  readonly searched: readonly string[]
  readonly failures: readonly { readonly name: string; readonly message: string }[]
}

export interface WrittenAnswer {
  readonly text: string
  readonly evidence: EvidenceLevel
  /** Quotes that are cited but not part of the text. */
  readonly further: string
}

/** One sentence, then the passage that answers, with its source and the id of its chunk; or that there is none. */
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
    closest: `I am not sure that ${where} answers this. The closest passage is:`,
    none: `I found nothing relevant to this question in ${where}${notThere(missing)}. ${nextStep(findings)}`,
  }
  const text = [openings[evidence], ...shown, ...failed].join('\n\n')
  return { text, evidence, further: further.join('\n\n') }
}

/** Names, as many as are read. */
function listedBases(names: readonly string[]): string {
  if (names.length <= NAMES_TOLD) return names.join(', ')
  return `${names.length} knowledge bases`
}

const NAMES_TOLD = 10

/** A search leaves no chunk out for its relevance: only what is empty gives none. */
function nextStep({ passages, failures }: Findings): string {
  if (passages.length === 0 && failures.length === 0) {
    return 'Nothing is stored there yet: insert documents, or wait until an insert that runs has stored some.'
  }
  return 'Ask with the words that the documents use, or add documents that hold the answer.'
}

function notThere(names: readonly string[]): string {
  return names.length === 0 ? '' : `: nothing there speaks of ${names.join(', ')}`
}

/** Options, names in camel case or with an underscore, file names, abbreviations: these have no synonyms. */
const NAMED_THING =
  /`([^`]{2,60})`|(?<![\p{L}\p{N}-])(--[\p{L}\p{N}][\p{L}\p{N}-]+|[\p{L}\p{N}]*\p{Ll}\p{Lu}[\p{L}\p{N}]*|[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+|\p{L}{2,}\.(?:js|ts|py|rs|net|io|md|json|toml|ya?ml)|\p{Lu}{3,})(?:'?s)?(?![\p{L}\p{N}])/gu

/** The names in a question that no passage mentions: such passages answer another question. */
function missingNames(question: string, passages: readonly Passage[]): readonly string[] {
  const text = bare(passages.map((one) => `${one.documentId} ${one.heading} ${one.text}`).join(' '))
  const names = [...question.matchAll(NAMED_THING)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  )
  return [...new Set(names)].filter((name) => bare(name) !== '' && !text.includes(bare(name)))
}

function nothingToSearch({ names }: Findings): string {
  if (names.length === 0) return 'There is no knowledge base that I may search for an answer.'
  return `I could not search ${listedBases(names)}: no tool call was left.`
}

function unsearched({ names, searched, failures }: Findings): string {
  const failedToo = failures.filter(({ name }) => !searched.includes(name))
  const rest = names.length - searched.length - failedToo.length
  return rest > 0 ? ` (${rest} more knowledge bases were not searched)` : ''
}

const TABLES_TOLD = 20

/** An agent over tables alone asks for statements, which only a language model writes. */
export function tablesAnswer(tables: readonly string[]): string {
  const told = tables.slice(0, TABLES_TOLD).map((table) => `- ${table}`)
  const rest = tables.length - told.length
  return [
    'I am the built-in model: I search knowledge bases and quote them, and this agent reads only tables. Questions over ' +
      'tables need a chat model that writes SQL: name one as `model` of this agent, or for all agents with ' +
      'EIDER_CHAT_PROVIDER and EIDER_CHAT_MODEL. With SQL you can read these tables now:',
    [...told, ...(rest > 0 ? [`- and ${rest} more`] : [])].join('\n'),
  ].join('\n\n')
}

const ROWS_SHOWN = 10
const SHOWN_CELL_CHARS_MAX = 60

/**
 * Says that a statement answers, which one, and its result. null if it returned nothing: then the question is better
 * searched.
 * @param observation its result; null: it was not run
 */
export function rowsAnswer(
  { statement, source }: RowAnswer,
  observation: string | null,
): string | null {
  if (statement === null || observation === null) {
    const columns = source.columns.map(({ name, type }) => `${name} (${type})`).join(', ')
    return `${NEEDS_SQL} I cannot tell a statement for it; the columns of ${source.name} are: ${columns}.`
  }
  const rows = csvIn(observation)
  const [header, ...values] = rows === null ? [] : parseCsv(rows)
  const shown = values.filter(
    (row) => row.length === header?.length && row.some((cell) => cell !== ''),
  )
  if (header === undefined || shown.length === 0) return null
  const more = shown.length > ROWS_SHOWN ? ['\nand more.'] : []
  return [
    `${NEEDS_SQL} This statement answers it:`,
    `\`\`\`sql\n${statement}\n\`\`\``,
    'Run just now, it gives:',
    [
      markdownRow(header),
      `|${'---|'.repeat(header.length)}`,
      ...shown.slice(0, ROWS_SHOWN).map(markdownRow),
      ...more,
    ].join('\n'),
  ].join('\n\n')
}

const NEEDS_SQL =
  'I quote passages, and this asks for rows: it needs SQL, or an agent with a chat model, which writes SQL itself.'

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => plainCell(cell)).join(' | ')} |`
}

function plainCell(cell: string): string {
  return shortened(cell.replace(/\s+/g, ' ').replaceAll('|', '\\|'), SHOWN_CELL_CHARS_MAX)
}
