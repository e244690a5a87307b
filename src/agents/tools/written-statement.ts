/** Parses statements as models write them, and adds hints to errors. */

import FUNCTIONS from '../../../assets/prompts/sql-functions.json' with { type: 'json' }
import { nameMeant } from '../../core/domain/agents/agent.ts'
import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import { KNOWLEDGE_BASE_COLUMNS } from '../../core/domain/knowledge-base.ts'
import { fullName, nameKey, quotedPath } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import { type DataReader, namedKnowledgeBases } from '../data/agent-data.ts'

/** Labels and markers used in prompts of other systems. */
const LABEL = /^(?:\$START\$|(?:sql(?:[ _]?query)?|query|statement)[ \t]{0,8}[:=](?=\s{0,8}\S))/i
const STOP_MARK = /\$STOP\$$/i
const OPENING =
  /^(?:\(|--|\/\*|(?:select|with|from|values|table|describe|desc|summarize|show|pivot|unpivot|explain)\b)/i
const STATEMENT_LINE = /^[ \t]*(?:select|with)\b[^\n]*/im

/** @throws AppError `sql_forbidden` if it is too long */
export function statementIn(input: string): string {
  if (input.length > AGENT_LIMITS.sqlCharsMax) {
    const limit = `${AGENT_LIMITS.sqlCharsMax} characters`
    throw new AppError('sql_forbidden', `A statement has at most ${limit}`)
  }
  const text = (textOfJson(input) ?? input).trim()
  const plain = text.replace(LABEL, '').replace(STOP_MARK, '').trim()
  if (OPENING.test(plain)) return plain
  const fenced = fencedIn(plain)
  if (fenced !== '') return fenced
  const line = STATEMENT_LINE.exec(plain)
  return line === null ? plain : plain.slice(line.index).trim()
}

const CODE_FENCE = '```'
const LANGUAGE_CHARS_MAX = 40

/** Not a regular expression, because time must stay linear for a model's text. */
function fencedIn(text: string): string {
  for (
    let at = text.indexOf(CODE_FENCE);
    at !== -1;
    at = text.indexOf(CODE_FENCE, at + CODE_FENCE.length)
  ) {
    const lineEnd = text.indexOf('\n', at)
    if (lineEnd === -1) return ''
    const language = text.slice(at + CODE_FENCE.length, lineEnd)
    if (language.length > LANGUAGE_CHARS_MAX || !/^\w*$/.test(language.trim())) continue
    const end = text.indexOf(CODE_FENCE, lineEnd)
    return text.slice(lineEnd, end === -1 ? undefined : end).trim()
  }
  return ''
}

/** Reads `{"sql_query": "SELECT …"}`, or a statement as a JSON string. */
function textOfJson(input: string): string | null {
  const object = parsedJson(input)
  const [only, ...others] = isObject(object) ? Object.values(object) : []
  return others.length === 0 && typeof only === 'string' ? only : null
}

/** Functions of other databases, and their DuckDB equivalents. */
const FUNCTIONS_HERE: Readonly<Record<string, string>> = FUNCTIONS

const FUNCTION_NAMED = /function "?(\w+)"? |name (\w+) does not exist/i

/** Adds the next step if it is clear. Looks up columns for the names in the statement. */
export async function withHint(
  message: string,
  sql: string,
  reader: DataReader,
  signal: AbortSignal,
): Promise<string> {
  const unknownColumn = /^Column "[^"]*" does not exist/.test(message)
  const hint = unknownColumn ? await columnsNamed(sql, reader, signal) : plainHint(message, sql)
  return hint === null ? message : `${message}\nHint: ${hint}`
}

function plainHint(message: string, sql: string): string | null {
  const [, first, second] = FUNCTION_NAMED.exec(message) ?? []
  const called = nameKey(first ?? second ?? '')
  const here = Object.hasOwn(FUNCTIONS_HERE, called) ? FUNCTIONS_HERE[called] : undefined
  if (here !== undefined) return `write ${here}`
  if (
    /^\s*(?:insert|update|delete|create|drop|alter|copy|attach|set|pragma|call|install|load)\b/i.test(
      sql,
    )
  ) {
    return 'you can only read: write one SELECT'
  }
  if (/information_schema|^\s*show\b/i.test(sql)) {
    return 'the tools kb_list_tool and sql_db_list_tables list what you may read, kb_info_tool and sql_db_schema describe it'
  }
  if (/\bselect\s+top\s+\d/i.test(sql)) return 'write LIMIT at the end instead of TOP'
  if (/\bmatch\s*\(/i.test(sql)) return `write ${FUNCTIONS.match}`
  if (/Only one statement/.test(message)) return 'make one call for each statement'
  return null
}

const COLUMNS_SHOWN_MAX = 60
const TABLES_LOOKED_UP_MAX = 3

async function columnsNamed(
  sql: string,
  reader: DataReader,
  signal: AbortSignal,
): Promise<string | null> {
  const { allowed, project } = reader.scope
  const lines = namedKnowledgeBases(sql, allowed.knowledgeBases, project).map((kb) => {
    const own = kb.storedMetadata.map(({ name }) => name)
    return `${fullName(kb)} has the columns ${shortList([...KNOWLEDGE_BASE_COLUMNS, ...own])}`
  })
  const tables = readTables(sql, project, allowed.tables).slice(0, TABLES_LOOKED_UP_MAX)
  for (const table of tables) {
    const columns = await tableColumns(table, reader, signal)
    if (columns !== null) lines.push(`${table} has the columns ${shortList(columns)}`)
  }
  return lines.length === 0 ? null : lines.join('\n')
}

async function tableColumns(
  table: string,
  reader: DataReader,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  try {
    return (await reader.read(`SELECT * FROM ${quotedPath(table)} LIMIT 0`, signal)).columns
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AppError) return null
    throw error
  }
}

function shortList(columns: readonly string[]): string {
  const shown = columns.slice(0, COLUMNS_SHOWN_MAX).map((name) => name.slice(0, 100).toWellFormed())
  const rest = columns.length - shown.length
  return rest === 0 ? shown.join(', ') : `${shown.join(', ')} and ${rest} more`
}

const AFTER_FROM =
  /\b(?:from|join)\s+((?:["`][^"`]*["`]|[^\s"`,;()]+)(?:\s*\.\s*(?:["`][^"`]*["`]|[^\s"`,;().]+))*)/gi

function readTables(sql: string, project: string, tables: readonly string[]): readonly string[] {
  const found = [...sql.matchAll(AFTER_FROM)].flatMap(([, name = '']) => {
    return nameMeant(name, project, tables) ?? []
  })
  return [...new Set(found)]
}
