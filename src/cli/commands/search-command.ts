import type { SEARCH_ANSWER } from '../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import { namedObject, pathOf, type RunCommand } from '../command.ts'
import { usageError } from '../command-error.ts'
import type { Output } from '../output.ts'
import { safeLine, safeText, truncated, wrapped } from '../terminal-text.ts'

type SearchAnswer = Wire<typeof SEARCH_ANSWER>
type SearchResult = SearchAnswer['results'][number]

export const searchPassages: RunCommand = async ({ words, options, client, output, signal }) => {
  const [knowledgeBase = '', ...text] = words
  const named = namedObject(knowledgeBase, options)
  const body = {
    query: text.join(' '),
    k: options.count('k', 1, 10_000) ?? 10,
    mode: options.only(['hybrid', 'vector', 'keyword'], 'modes'),
    filters: filtersOf(options.list('filter')),
    min_relevance: options.share('min-relevance'),
    per_document: options.flag('per-document'),
    rerank: options.flag('rerank'),
  }
  const path = `${pathOf('knowledge_bases', named)}/search`
  const answer = await client.send<SearchAnswer>('POST', path, { json: body, signal })
  for (const warning of answer.warnings ?? []) output.say(`Warning: ${safeLine(warning)}`)
  if (output.isJson) await output.json(answer)
  else await showResults(answer.results, body.query, output)
  return undefined
}

const CONDITION = /^\s*([^<>=!~]+?)\s*(<=|>=|!=|<>|=|<|>|~)\s*(.*)$/s
const FILTER_OPERATORS: Readonly<Record<string, string>> = { '!=': 'not', '<>': 'not', '~': 'like' }

/** Parses `price<8`, `colour=green`, `title~%tea%` or a JSON object. All must hold. */
export function filtersOf(
  conditions: readonly string[],
): Readonly<Record<string, unknown>> | undefined {
  const [first, ...others] = conditions.map(filterOf)
  if (first === undefined) return undefined
  return others.length === 0 ? first : { and: [first, ...others] }
}

function filterOf(condition: string): Readonly<Record<string, unknown>> {
  if (condition.trimStart().startsWith('{')) return jsonObject(condition)
  const [, name, sign = '', text = ''] = CONDITION.exec(condition) ?? []
  if (name !== undefined) return { [name]: { [FILTER_OPERATORS[sign] ?? sign]: plainValue(text) } }
  const examples = `--filter 'price<8', --filter colour=green, --filter 'title~%tea%'`
  throw usageError(`--filter: "${condition}" is not a condition; examples: ${examples}`)
}

function jsonObject(text: string): Readonly<Record<string, unknown>> {
  const value = parsedJson(text)
  if (isObject(value)) return value
  throw usageError(`--filter: this is not JSON: ${truncated(safeLine(text), 60)}`)
}

/** Reads `8` as a number, `true` as a boolean, and `"8"` and everything else as a string. */
export function plainValue(text: string): unknown {
  if (/^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|".*"|\[.*\])$/s.test(text)) {
    const value = parsedJson(text)
    return value === undefined ? text : value
  }
  return text
}

const TEXT_COLUMNS_MAX = 100
const INDENT = '    '

async function showResults(
  results: readonly SearchResult[],
  query: string,
  output: Output,
): Promise<void> {
  if (results.length === 0) {
    output.say('Nothing found')
    return
  }
  const words = queryWords(query)
  for (const [index, result] of results.entries()) {
    const { id, relevance, metadata, chunk_content: content } = result
    const place = placeText(metadata)
    const score = relevance === null ? '' : `  ${output.dim(relevance.toFixed(3))}`
    const number = output.dim(String(index + 1).padStart(2))
    const where = place === '' ? '' : `  ${output.dim(safeLine(place))}`
    const head = `${number}  ${output.cyan(safeLine(id))}${score}${where}`
    const text = safeText(withoutHeading(content.trim(), metadata)).replaceAll(/\n{2,}/g, '\n')
    const room = Math.min(TEXT_COLUMNS_MAX, (output.columns ?? TEXT_COLUMNS_MAX) - INDENT.length)
    const lines = wrapped(text, Math.max(20, room)).map((line) => {
      return `${INDENT}${highlighted(line, words, output)}`
    })
    await output.write(`${index === 0 ? '' : '\n'}${head}\n${lines.join('\n')}\n`)
  }
}

function placeText(metadata: Readonly<Record<string, unknown>>): string {
  const { heading, page, line } = metadata
  const parts = [
    typeof heading === 'string' ? heading : '',
    typeof page === 'number' ? `page ${page}` : '',
    typeof line === 'number' && typeof heading !== 'string' ? `line ${line}` : '',
  ]
  return parts.filter((part) => part !== '').join(', ')
}

/** Removes headings at the start of the text that the line above already shows. */
function withoutHeading(text: string, { heading }: Readonly<Record<string, unknown>>): string {
  if (typeof heading !== 'string') return text
  const said = new Set(heading.split(' > '))
  const lines = text.split('\n')
  const first = lines.findIndex((line) => {
    const [, name] = /^#{1,6}\s+(.*?)\s*#*$/.exec(line.trim()) ?? []
    return line.trim() !== '' && (name === undefined || !said.has(name))
  })
  return first === -1 ? text : lines.slice(first).join('\n')
}

const SHORT_WORD = 3
const QUERY_WORDS_MAX = 50

/** The words to highlight, without very short ones. They match at the start of words. */
function queryWords(query: string): readonly string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return [...new Set(words)].filter((word) => word.length > SHORT_WORD).slice(0, QUERY_WORDS_MAX)
}

function highlighted(line: string, words: readonly string[], output: Output): string {
  if (!output.hasColours || words.length === 0) return line
  const stems = words.map((word) => (word.length > 6 ? word.slice(0, -2) : word))
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${stems.join('|')})[\\p{L}\\p{N}]*`, 'giu')
  return line.replaceAll(pattern, (found) => output.highlight(found))
}
