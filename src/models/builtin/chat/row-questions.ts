/**
 * Answers questions about rows: how many there are, or what a column contains. A search cannot
 * count, but SQL can, and for simple questions the built-in model can write the statement.
 */
import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import { literal, quote, quotedPath } from '../../../core/domain/names.ts'
import { FORMAT_NAMES } from '../../../core/domain/uploaded-file.ts'
import { withoutAccents } from '../../../core/text/word-forms.ts'

interface RowSource {
  /** For example `project.kb`. */
  readonly name: string
  readonly isTable: boolean
  /** Empty if unknown. */
  readonly columns: readonly DescribedColumn[]
}

export interface DescribedColumn {
  readonly name: string
  readonly type: string
}

type Wanted = 'value' | 'count' | 'list' | 'avg' | 'sum' | 'min' | 'max' | 'latest' | 'oldest'

/** Patterns of questions about rows, in English, German, Spanish, Russian and Chinese. */
const SHAPES = Object.entries(WORDS.rows.shapes).map(([wanted, shape]) => {
  // The table's keys are the kinds of question.
  return [wanted as Wanted, new RegExp(shape, 'u')] as const
})

/** Nouns for the contents of a knowledge base. */
const NOUNS = new RegExp(WORDS.rows.nouns, 'u')
const HAN_NOUNS = /文档|文件|记录/g
const HAN_EMPTY = /有|多少|几个|一共|总共|哪些|列出|所有|知识库|数据库|里面?|中|的|吗|个|份/g
const TEXT_FILES = /^how many text (?:files|documents)(?: are there| do you have)?\W*$/
const CHUNK_NOUNS = /\b(chunks?|passages?)\b/
/** Those of these nouns that mean the rows of a table. */
const ROW_NOUNS = new RegExp(WORDS.rows.rowNouns, 'u')

/** Question words and connectives, which say nothing about the subject. */
const EMPTY_WORDS = new Set(WORDS.rows.empty.split(' '))
const GROUP = /\b(each|per|by|every|grouped|group|je|pro|jede\w*|nach|por|cada)\b|кажд|每/

/** A value to count by, such as `MIT`, which is also a small word in German. */
const VALUE = /(?<!\p{L})\p{Lu}{2,}|["“„\d]/u

export interface RowAnswer {
  readonly statement: string | null
  readonly source: RowSource
}

/** Whether a question may be about rows, so that it is worth reading the column names. */
export function asksForRows(question: string): boolean {
  return wantedOf(folded(question)) !== null
}

/** Counts in all sources that it may mean. null if the question asks for something else. */
export function countAnswer(question: string, sources: readonly RowSource[]): RowAnswer | null {
  const text = folded(question)
  if (wantedOf(text) !== 'count' || VALUE.test(question) || formatIn(text) !== null) return null
  const counted = sources.flatMap((source) => {
    return answerFrom(question, { text, wanted: 'count', source: { ...source, columns: [] } }) ?? []
  })
  const tables = counted.filter(({ source }) => source.isTable)
  const those = tables.length > 0 ? tables : counted
  const [only] = those
  if (only === undefined || those.length === 1) return only ?? null
  const all = those.map(({ source }) => source)
  return { ...only, statement: countOfAll(all, text) }
}

/** Returns the statement for the number in each source, and in all together. */
function countOfAll(sources: readonly RowSource[], text: string, where = ''): string {
  const [first, ...others] = sources
  if (first === undefined) throw new Error('there is a source to count in')
  const { value, unit } = counting(first, text)
  if (others.length === 0) return `SELECT ${value} AS ${unit} ${fromOf(first)}${where}`
  const each = sources.map((source) => {
    return `SELECT ${literal(source.name)} AS name, ${counting(source, text).value} AS ${unit} ${fromOf(source)}${where}`
  })
  const sum = `SELECT coalesce(name, 'all') AS name, CAST(sum(${unit}) AS BIGINT) AS ${unit}`
  return `${sum}\nFROM (${each.join('\n  UNION ALL ')})\nGROUP BY ROLLUP (name) ORDER BY ${unit} DESC`
}

/** The format of the documents that the question is about, if nothing else is said about them. */
function formatIn(text: string): string | null {
  // "Texts" are any documents, but "text files" have a format.
  if (TEXT_FILES.test(text)) return 'text'
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? []
  const rest = words.filter((word) => !EMPTY_WORDS.has(word) && !NOUNS.test(word))
  const format = FORMAT_NAMES.find((name) => name === singular(rest[0] ?? ''))
  return rest.length > 1 ? null : (format ?? null)
}

/** Counts the documents of a format, as in "How many PDF documents are there?" */
function formatCount(text: string, sources: readonly RowSource[]): RowAnswer | null {
  const format = formatIn(text)
  if (format === null) return null
  const those = sources.filter(({ isTable, columns }) => {
    return !isTable && columns.some(({ name }) => name === 'format')
  })
  const [source] = those
  if (source === undefined) return null
  return { statement: countOfAll(those, text, ` WHERE format = ${literal(format)}`), source }
}

export function rowAnswer(question: string, sources: readonly RowSource[]): RowAnswer | null {
  const text = folded(question)
  const wanted = wantedOf(text)
  if (wanted === null) return null
  const ofFormat = wanted === 'count' ? formatCount(text, sources) : null
  if (ofFormat !== null) return ofFormat
  const answers = sources.flatMap((source) => answerFrom(question, { text, wanted, source }) ?? [])
  return answers.find(({ statement }) => statement !== null) ?? answers[0] ?? null
}

/** A way, a reason, or how many something could hold. */
const ASKS_OTHER =
  /^(?:how (?:do|can|to|should|does|did|many .*\b(?:can|may|could|must))|why|warum|wie (?:kann|mache|viele .*\b(?:kann|konnen|darf|durfen))|como)\b/

function wantedOf(text: string): Wanted | null {
  if (ASKS_OTHER.test(text)) return null
  return SHAPES.find(([, shape]) => shape.test(text))?.[0] ?? null
}

interface Asked {
  readonly text: string
  readonly wanted: Wanted
  readonly source: RowSource
}

function answerFrom(question: string, { text, wanted, source }: Asked): RowAnswer | null {
  const words =
    text
      .replaceAll(HAN_NOUNS, ' documents ')
      .replaceAll(HAN_EMPTY, ' ')
      .match(/[\p{L}\p{N}_.+-]+/gu) ?? []
  const used = new Set<string>()
  const columns = source.columns.filter((column) => mentions(words, column.name, used))
  const [column] = columns
  const condition = column === undefined ? null : columnCondition(question, column, used)
  const own = new Set(nameWords(source.name.replace(/^[^.]*\./, '')).map(singular))
  const nouns = source.isTable ? ROW_NOUNS : NOUNS
  const isNoun = (word: string) => nouns.test(word) || own.has(singular(word))
  // The counted things, in the user's own words, as in "how many packages".
  const counted = /\b(?:how many|which|what|list|all|wie ?viele|welche|alle)\s+([\p{L}-]+)/u.exec(
    text,
  )?.[1]
  const bare = words.map((word) => word.replace(/[.]+$/, ''))
  const rest = bare.filter((word, at) => {
    if (used.has(word) || EMPTY_WORDS.has(word) || isNoun(word)) return false
    // "New" is a condition in "how many new customers", if there is a column of customers.
    return word !== counted || used.has(bare[at + 1] ?? '')
  })
  if (column === undefined) {
    // Without a column, rows can only give the number or the names of all documents.
    const isOfAll =
      words.some(isNoun) && (counted === undefined || isNoun(counted) || EMPTY_WORDS.has(counted))
    if (!isOfAll || rest.length > 0 || (wanted !== 'count' && wanted !== 'list')) return null
    const statement = rowStatement({ wanted, text, source, column: null, condition: null })
    return { statement, source }
  }
  if (rest.length > 1) return null
  const [name] = rest
  if (name !== undefined) {
    // Asks for the value of one document: "the latest version of chokidar".
    const isOfOne = wanted !== 'count' && wanted !== 'list' && wanted !== 'avg'
    // "Order 4" is not the document with the id 41.
    if (condition !== null || !isOfOne || source.isTable || /^\d+$/.test(name)) return null
    const pattern = literal(`%${name.replaceAll(/[%_]/g, '')}%`)
    const ofOne = `id ILIKE ${pattern}`
    return { statement: valueStatement(source, column, ofOne), source }
  }
  if (wanted === 'value') return null
  const isSummable = NUMERIC.test(column.type) || (wanted !== 'avg' && wanted !== 'sum')
  const isPlain = columns.length === 1 && isSummable
  const statement = isPlain ? rowStatement({ wanted, text, source, column, condition }) : null
  return { statement, source }
}

function valueStatement(source: RowSource, column: DescribedColumn, condition: string): string {
  return `SELECT DISTINCT id, ${quote(column.name)} ${fromOf(source)} WHERE ${condition} ORDER BY id LIMIT 5`
}

function fromOf(source: RowSource): string {
  return `FROM ${quotedPath(source.name)}`
}

function mentions(words: readonly string[], column: string, used: Set<string>): boolean {
  const parts = nameWords(column)
  const bare = words.map((word) => word.replace(/[.]+$/, ''))
  for (let at = 0; at < bare.length; at += 1) {
    const whole = bare[at] ?? ''
    if (singular(whole) === singular(parts.join('_')) && parts.length > 0) {
      used.add(whole)
      return true
    }
    const isHere = parts.every((part, index) => singular(bare[at + index] ?? '') === singular(part))
    if (!isHere || parts.length === 0) continue
    for (const [index] of parts.entries()) used.add(bare[at + index] ?? '')
    return true
  }
  return false
}

function nameWords(name: string): readonly string[] {
  return folded(name).match(/[\p{L}\p{N}]+/gu) ?? []
}

function singular(word: string): string {
  return word.length > 3 ? word.replace(/(?<=[^s])s$/, '') : word
}

const NUMERIC = /INT|DOUBLE|FLOAT|DECIMAL|REAL/i
const COMPARISONS: readonly (readonly [RegExp, string])[] = [
  [/(?:more|greater|larger|bigger|longer) than|over|above|after|mehr als|uber/, '>'],
  [/(?:less|fewer|smaller|shorter) than|under|below|before|weniger als|unter/, '<'],
  [/at least|mindestens/, '>='],
  [/at most|hochstens/, '<='],
]

/** A value of several words at the end, such as `MIT OR Apache-2.0` or `New York`. */
const LONG_VALUE =
  /(\p{L}+)\s+(\(?\p{Lu}[^\s?]*(?:\s+(?:of|the|\(?\p{Lu}[^\s?]*))+)(?=\?|[.!\s]*$)/u

/** A condition such as `license = 'MIT'`, if the value is quoted or next to the column's name. */
function columnCondition(
  question: string,
  column: DescribedColumn,
  used: Set<string>,
): string | null {
  const words = [...question.matchAll(/"[^"]+"|'[^']+'|“[^”]+”|[\p{L}\p{N}_.+-]+/gu)].map(
    ([word]) => word,
  )
  const at = words.findIndex((word) => used.has(folded(word).replace(/[.]+$/, '')))
  const isSkipped = (word: string) =>
    /^(is|are|of|equals?|the|a|ist|von|than|over|under|above|below|more|less|at|least|most|after|before)$/i.test(
      word,
    )
  const [, near = '', long] = LONG_VALUE.exec(question) ?? []
  const isLong = used.has(folded(near)) || isSkipped(near)
  const quoted = words.find((word) => /^["'“]/.test(word)) ?? (isLong ? long : undefined)
  const after = words.slice(at + 1).find((word) => !isSkipped(word))
  const before = words[at - 1]
  const isValue = (word: string | undefined): word is string => {
    if (word === undefined || used.has(folded(word))) return false
    return NUMERIC.test(column.type) ? /^\d/.test(word) : /^\p{Lu}|\d/u.test(word)
  }
  const value = quoted ?? [after, at > 1 ? before : undefined].find(isValue)
  if (value === undefined) return null
  const bare = value.replace(/^["'“]|["'”]$/g, '').replace(/[.]+$/, '')
  for (const part of folded(bare).match(/[\p{L}\p{N}_.+-]+/gu) ?? []) used.add(part)
  const text = folded(question)
  const operator = NUMERIC.test(column.type)
    ? (COMPARISONS.find(([words]) => new RegExp(`\\b(?:${words.source})\\b`).test(text))?.[1] ??
      '=')
    : '='
  if (operator !== '=') for (const word of WORDS.rows.comparing.split(' ')) used.add(word)
  return `${quote(column.name)} ${operator} ${NUMERIC.test(column.type) ? bare : literal(bare)}`
}

interface Statement {
  readonly wanted: Wanted
  readonly text: string
  readonly source: RowSource
  readonly column: DescribedColumn | null
  readonly condition: string | null
}

const ANSWER_ROWS_MAX = 100

/** Counts each document once, because each chunk is a row. */
function counting({ isTable }: RowSource, text: string) {
  if (isTable) return { value: 'count(*)', unit: 'rows' }
  if (CHUNK_NOUNS.test(text)) return { value: 'count(*)', unit: 'chunks' }
  return { value: 'count(DISTINCT id)', unit: 'documents' }
}

function rowStatement({ wanted, text, source, column, condition }: Statement): string {
  const from = fromOf(source)
  const where = condition === null ? '' : ` WHERE ${condition}`
  const { isTable } = source
  const { value, unit } = counting(source, text)
  const counted = `${value} AS ${unit}`
  if (column === null || condition !== null) {
    if (wanted === 'count') return `SELECT ${counted} ${from}${where}`
    const listed = isTable ? `* ${from}${where}` : `DISTINCT id ${from}${where} ORDER BY id`
    return `SELECT ${listed} LIMIT ${ANSWER_ROWS_MAX}`
  }
  const name = quote(column.name)
  const shown = isTable ? `* ${from}` : `DISTINCT id, ${name} ${from}`
  const last = isTable ? '' : ', id'
  switch (wanted) {
    case 'count':
    case 'list':
      if (GROUP.test(text) || wanted === 'list') {
        return `SELECT ${name}, ${counted} ${from} GROUP BY ${name} ORDER BY ${unit} DESC LIMIT ${ANSWER_ROWS_MAX}`
      }
      return `SELECT count(DISTINCT ${name}) AS ${quote(`different_${column.name}`)} ${from}`
    case 'avg':
    case 'sum':
      return `SELECT ${wanted}(${name}) ${isTable ? from : `FROM (SELECT ${shown})`}`
    case 'max':
    case 'latest':
      return `SELECT ${shown} ORDER BY ${name} DESC NULLS LAST${last} LIMIT 5`
    default:
      return `SELECT ${shown} ORDER BY ${name} NULLS LAST${last} LIMIT 5`
  }
}

/** Converts to lower case, without accents, in American spelling. */
function folded(text: string): string {
  return withoutAccents(text.toLowerCase())
    .replaceAll('ß', 'ss')
    .replaceAll('licence', 'license')
    .replaceAll('colour', 'color')
    .trim()
}

const COLUMN =
  /("[^"]+"|[\p{L}_][\p{L}\p{N}_]*) ((?:VARCHAR|TEXT|U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL|BOOLEAN|DATE|TIME|TIMESTAMP)\b[^,;\n]*)/giu

/** Parses the tool result that describes knowledge bases or tables. */
export function describedIn(observation: string): readonly RowSource[] {
  const parts = observation.split(/^(?=(?:Knowledge base|Table) )/m)
  return parts.flatMap((part) => {
    const [, kind, name] = /^(Knowledge base|Table) (.+?)(?::|\n)/.exec(part) ?? []
    if (name === undefined) return []
    const list = /^(?:Metadata c|C)olumns:([\s\S]*?)(?=\n\S|$(?![\s\S]))/m.exec(part)?.[1] ?? ''
    const columns = [...list.matchAll(COLUMN)].map(([, column = '', type = '']) => {
      return { name: column.replaceAll('"', ''), type: type.trim() }
    })
    return [{ name, isTable: kind === 'Table', columns }]
  })
}
