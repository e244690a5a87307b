import type { Citation } from '../../domain/agents/completion-event.ts'
import type { ToolCall } from '../../domain/ports/model-ports.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import { AGENT_LIMITS, byteSize, firstBytes } from '../agent-limits.ts'
import { type AvailableData, fullName, namedKnowledgeBases } from '../data/agent-data.ts'
import { type DataReader, dataReader, type Select } from '../data/data-reader.ts'
import { observationOf } from '../data/observation.ts'
import { citationsOf } from '../evidence/citations.ts'
import {
  mergedPassage,
  passagesOf,
  type ShownPassage,
  showsPlainChunks,
} from '../evidence/shown-passages.ts'
import { describeKnowledgeBases, describeTables } from './tool-descriptions.ts'
import { isToolName, type ToolName } from './tools.ts'

export interface ToolHostOptions {
  readonly data: AvailableData
  /** The agent's project. */
  readonly project: string
  readonly select: Select
  readonly observationBytesMax: number
}

/** These end the question; any other expected failure is told to the model, which may try something else. */
const FATAL_CODES: readonly ErrorCode[] = ['cancelled', 'shutting_down']

/**
 * Runs the tools for one question, on the main thread: it only reads, and only what the agent's
 * `data` names. It remembers the chunks that it showed, so that the answer's citations can be told
 * from invented ones.
 */
export class ToolHost {
  readonly #options: ToolHostOptions
  readonly #reader: DataReader
  readonly #seen = new Map<string, ShownPassage>()

  constructor(options: ToolHostOptions) {
    this.#options = options
    const { knowledgeBases, tables } = options.data
    const scope = { project: options.project, allowed: { knowledgeBases, tables } }
    this.#reader = dataReader(scope, options.select)
  }

  /**
   * What the tool found, or what went wrong, as text for the model of at most `observationBytesMax`
   * bytes.
   */
  async run(
    { name, input }: Pick<ToolCall, 'name' | 'input'>,
    signal: AbortSignal,
  ): Promise<string> {
    if (!isToolName(name)) throw new AppError('internal', `There is no tool "${name.slice(0, 80)}"`)
    try {
      return await this.#run(name, input, signal)
    } catch (error) {
      signal.throwIfAborted()
      const isTold = error instanceof AppError && !FATAL_CODES.includes(error.code)
      if (!isTold) throw error
      return firstBytes(FAILURES[name](error.message), this.#options.observationBytesMax)
    }
  }

  async #run(name: ToolName, input: string, signal: AbortSignal): Promise<string> {
    const { observationBytesMax: bytesMax, data } = this.#options
    switch (name) {
      case 'kb_list_tool':
        return namesText(data.knowledgeBases.map(fullName), 'No knowledge bases found.', bytesMax)
      case 'sql_db_list_tables':
        return namesText(data.tables, 'No tables found.', bytesMax)
      case 'kb_info_tool':
        return describeKnowledgeBases(input, this.#reader, signal, bytesMax)
      case 'sql_db_schema':
        return describeTables(input, this.#reader, signal, bytesMax)
      case 'kb_query_tool':
      case 'sql_db_query':
        return this.#query(sqlIn(input), signal)
    }
  }

  async #query(sql: string, signal: AbortSignal): Promise<string> {
    const result = await this.#reader.read(sql, signal)
    const { text, shownCount } = observationOf(result, {
      rowsMax: AGENT_LIMITS.observationRowsMax,
      bytesMax: this.#options.observationBytesMax,
    })
    const { data, project } = this.#options
    const origins = namedKnowledgeBases(sql, data.knowledgeBases, project)
    const shown = { columns: result.columns, rows: result.rows.slice(0, shownCount) }
    for (const passage of passagesOf(shown, origins, showsPlainChunks(sql))) {
      this.#remember(passage)
    }
    return text
  }

  #remember(passage: ShownPassage): void {
    // Two knowledge bases may hold chunks with the same id.
    const key = JSON.stringify([passage.chunkId, passage.origins.map((kb) => kb.id)])
    const known = this.#seen.get(key)
    if (known === undefined && this.#seen.size >= AGENT_LIMITS.passagesMax) return
    this.#seen.set(key, mergedPassage(known, passage))
  }

  /** The chunks that the answer names and the model was shown. */
  citations(answer: string, signal: AbortSignal): Promise<readonly Citation[]> {
    return citationsOf(answer, this.#seen.values(), this.#reader, signal)
  }

  /** The texts of all chunks that the model was shown. */
  get context(): readonly string[] {
    return [...this.#seen.values()].flatMap(({ text }) => (text === null ? [] : [text]))
  }
}

const kbFailure = (message: string) =>
  `Error executing knowledge base query: ${message}. ` +
  'Please check that the knowledge base exists and your query syntax is correct.'
const failure = (message: string) => `Error: ${message}`

const FAILURES: Readonly<Record<ToolName, (message: string) => string>> = {
  kb_list_tool: failure,
  kb_info_tool: failure,
  kb_query_tool: kbFailure,
  sql_db_list_tables: failure,
  sql_db_schema: failure,
  sql_db_query: failure,
}

/** A model may fence its statement as Markdown. */
function sqlIn(input: string): string {
  if (input.length > AGENT_LIMITS.sqlCharsMax) {
    const limit = `${AGENT_LIMITS.sqlCharsMax} characters`
    throw new AppError('sql_forbidden', `A statement has at most ${limit}`)
  }
  const fenced = /^```\w*\n(.*)```$/s.exec(input.trim())
  return (fenced?.[1] ?? input).trim()
}

/** Names as JSON, as many as there is room for. */
function namesText(names: readonly string[], none: string, bytesMax: number): string {
  if (names.length === 0) return none
  const all = JSON.stringify(names)
  if (byteSize(all) <= bytesMax) return all
  const shown: string[] = []
  let left = bytesMax - 100
  for (const name of names) {
    left -= byteSize(JSON.stringify(name)) + 1
    if (left < 0) break
    shown.push(name)
  }
  const rest = names.length - shown.length
  return `${JSON.stringify(shown)}\n(${rest} more names, cut at ${bytesMax} bytes)`
}
