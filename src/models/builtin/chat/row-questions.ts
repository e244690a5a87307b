/**
 * Questions that no passage answers: how many rows there are, or what a metadata column contains. Search cannot count; a
 * statement can, and for a simple question it is known.
 */
import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import { literal, quote } from '../../../core/domain/names.ts'
import { withoutAccents } from '../../../core/text/word-forms.ts'

/** A knowledge base by its description. */
export interface DescribedKnowledgeBase {
  /** `project.kb` */
  readonly name: string
  readonly columns: readonly DescribedColumn[]
}

export interface DescribedColumn {
  readonly name: string
  readonly type: string
}

type Wanted = 'value' | 'count' | 'list' | 'avg' | 'sum' | 'min' | 'max' | 'latest' | 'oldest'

/** In English, German, Spanish, Russian and Chinese: questions for rows, not text. */
const SHAPES = Object.entries(WORDS.rows.shapes).map(([wanted, shape]) => {
  // The keys of the table are what is wanted.
  return [wanted as Wanted, new RegExp(shape, 'u')] as const
})

/** Names of what a knowledge base holds. */
const NOUNS = new RegExp(WORDS.rows.nouns, 'u')
const HAN_NOUNS = /文档|文件|记录/g
const HAN_EMPTY = /有|多少|几个|一共|总共|哪些|列出|所有|知识库|数据库|里面?|中|的|吗|个|份/g
const CHUNK_NOUNS = /\b(chunks?|passages?)\b/

/** Question words and connectives, which say nothing about the subject. */
const EMPTY_WORDS = new Set(WORDS.rows.empty.split(' '))
const GROUP = /\b(each|per|by|every|grouped|group|je|pro|jede\w*|nach|por|cada)\b|кажд|每/

/** A statement that answers; none if it is not clear. */
export interface RowAnswer {
  readonly statement: string | null
  readonly source: DescribedKnowledgeBase
}

/** Whether a question may be one for rows: then the knowledge bases' columns are worth asking for. */
export function asksForRows(question: string): boolean {
  return wantedOf(folded(question)) !== null
}

/** null: a question for passages. */
export function rowAnswer(
  question: string,
  sources: readonly DescribedKnowledgeBase[],
): RowAnswer | null {
  const text = folded(question)
  const wanted = wantedOf(text)
  if (wanted === null) return null
  const answers = sources.flatMap((source) => answerFrom(question, { text, wanted, source }) ?? [])
  return answers.find(({ statement }) => statement !== null) ?? answers[0] ?? null
}

function wantedOf(text: string): Wanted | null {
  if (/^(how (do|can|to|should|does|did)|why|warum|wie (kann|mache)|como)\b/.test(text)) return null
  return SHAPES.find(([, shape]) => shape.test(text))?.[0] ?? null
}

interface Asked {
  readonly text: string
  readonly wanted: Wanted
  readonly source: DescribedKnowledgeBase
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
  const own = new Set(nameWords(source.name).map(singular))
  const isNoun = (word: string) => NOUNS.test(word) || own.has(singular(word))
  // The things counted have a name of the user's: "how many packages".
  const counted = /\b(?:how many|which|what|list|all|wie ?viele|welche|alle)\s+([\p{L}-]+)/u.exec(
    text,
  )?.[1]
  const rest = words
    .map((word) => word.replace(/[.]+$/, ''))
    .filter(
      (word) => !used.has(word) && !EMPTY_WORDS.has(word) && !isNoun(word) && word !== counted,
    )
  if (column === undefined) {
    // Without a column, only the number or names of all documents can be answered by rows.
    const isOfAll =
      words.some(isNoun) && (counted === undefined || isNoun(counted) || EMPTY_WORDS.has(counted))
    if (!isOfAll || rest.length > 0 || (wanted !== 'count' && wanted !== 'list')) return null
    return {
      statement: rowStatement({ wanted, text, source, column: null, condition: null }),
      source,
    }
  }
  if (rest.length > 1) return null
  const [name] = rest
  if (name !== undefined) {
    // One document's value: "the latest version of chokidar".
    if (condition !== null || wanted === 'count' || wanted === 'list' || wanted === 'avg')
      return null
    const pattern = literal(`%${name.replaceAll(/[%_]/g, '')}%`)
    const ofOne = `id ILIKE ${pattern}`
    return { statement: valueStatement(source, column, ofOne), source }
  }
  if (wanted === 'value') return null
  const isSummable = NUMERIC.test(column.type) || (wanted !== 'avg' && wanted !== 'sum')
  const isPlain = columns.length === 1 && isSummable
  return {
    statement: isPlain ? rowStatement({ wanted, text, source, column, condition }) : null,
    source,
  }
}

function valueStatement(
  source: DescribedKnowledgeBase,
  column: DescribedColumn,
  condition: string,
): string {
  return `SELECT DISTINCT id, ${quote(column.name)} ${fromOf(source)} WHERE ${condition} ORDER BY id LIMIT 5`
}

function fromOf(source: DescribedKnowledgeBase): string {
  return `FROM ${source.name.split('.').map(quote).join('.')}`
}

/** A column by its name, in one or several words, in either spelling of English. */
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

/** `license = 'MIT'` if the value is next to the column's name or in quotation marks. */
function columnCondition(
  question: string,
  column: DescribedColumn,
  used: Set<string>,
): string | null {
  const words = [...question.matchAll(/"[^"]+"|'[^']+'|“[^”]+”|[\p{L}\p{N}_.+-]+/gu)].map(
    ([word]) => word,
  )
  const at = words.findIndex((word) => used.has(folded(word).replace(/[.]+$/, '')))
  const quoted = words.find((word) => /^["'“]/.test(word))
  const isSkipped = (word: string) =>
    /^(is|are|of|equals?|the|a|ist|von|than|over|under|above|below|more|less|at|least|most|after|before)$/i.test(
      word,
    )
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
  readonly source: DescribedKnowledgeBase
  readonly column: DescribedColumn | null
  readonly condition: string | null
}

const ANSWER_ROWS_MAX = 100

/** A chunk is a row: a value of a document counts once. */
function rowStatement({ wanted, text, source, column, condition }: Statement): string {
  const from = fromOf(source)
  const where = condition === null ? '' : ` WHERE ${condition}`
  if (column === null || condition !== null) {
    if (wanted === 'count') {
      const counted = CHUNK_NOUNS.test(text)
        ? 'count(*) AS chunks'
        : 'count(DISTINCT id) AS documents'
      return `SELECT ${counted} ${from}${where}`
    }
    return `SELECT DISTINCT id ${from}${where} ORDER BY id LIMIT ${ANSWER_ROWS_MAX}`
  }
  const name = quote(column.name)
  switch (wanted) {
    case 'count':
    case 'list':
      if (GROUP.test(text) || wanted === 'list') {
        return `SELECT ${name}, count(DISTINCT id) AS documents ${from} GROUP BY ${name} ORDER BY documents DESC LIMIT ${ANSWER_ROWS_MAX}`
      }
      return `SELECT count(DISTINCT ${name}) AS ${quote(`different_${column.name}`)} ${from}`
    case 'avg':
    case 'sum':
      return `SELECT ${wanted}(${name}) FROM (SELECT DISTINCT id, ${name} ${from})`
    case 'max':
    case 'latest':
      return `SELECT DISTINCT id, ${name} ${from} ORDER BY ${name} DESC NULLS LAST, id LIMIT 5`
    default:
      return `SELECT DISTINCT id, ${name} ${from} ORDER BY ${name} NULLS LAST, id LIMIT 5`
  }
}

/** Lower case, without accents, in American spelling. */
function folded(text: string): string {
  return withoutAccents(text.toLowerCase())
    .replaceAll('ß', 'ss')
    .replaceAll('licence', 'license')
    .replaceAll('colour', 'color')
    .trim()
}

const COLUMN =
  /("[^"]+"|[\p{L}_][\p{L}\p{N}_]*) ((?:VARCHAR|TEXT|U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL|BOOLEAN|DATE|TIME|TIMESTAMP)\b[^,;\n]*)/giu

/** Reads what the tool says that describes knowledge bases. */
export function describedIn(observation: string): readonly DescribedKnowledgeBase[] {
  const parts = observation.split(/^(?=Knowledge base )/m)
  return parts.flatMap((part) => {
    const name = /^Knowledge base (.+?):/.exec(part)?.[1]
    if (name === undefined) return []
    const list = /^Metadata columns:([\s\S]*?)(?=\n\S|$(?![\s\S]))/m.exec(part)?.[1] ?? ''
    const columns = [...list.matchAll(COLUMN)].map(([, column = '', type = '']) => {
      return { name: column.replaceAll('"', ''), type: type.trim() }
    })
    return [{ name, columns }]
  })
}
