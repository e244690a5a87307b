import { AGENT_LIMITS, byteSize, firstBytes } from '../../core/domain/agents/agent-limits.ts'
import type { AnswerFindings, Chart, Citation } from '../../core/domain/agents/completion-event.ts'
import { fullName } from '../../core/domain/names.ts'
import type { FoundPassage, ToolCall } from '../../core/domain/ports/model-ports.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import {
  type AvailableData,
  type DataReader,
  dataReader,
  type FirstRows,
  namedKnowledgeBases,
  observationOf,
  type Select,
  type TypedRows,
} from '../data/agent-data.ts'
import { citationsOf } from '../evidence/citations.ts'
import {
  FinalRows,
  mergedPassage,
  passagesOf,
  type ShownPassage,
  type ShownRows,
  showsPlainChunks,
  statementsOf,
} from '../evidence/shown-passages.ts'
import { readDocument } from './document-pages.ts'
import { drawChart } from './drawn-chart.ts'
import { metadataValues } from './metadata-values.ts'
import { describeKnowledgeBases, describeTables, isToolName, type ToolName } from './tools.ts'
import { statementIn, withHint } from './written-statement.ts'

interface ToolHostOptions {
  readonly data: AvailableData
  readonly project: string
  readonly select: Select
  readonly observationBytesMax: number
  /** Whether the rows of the last statement are part of the answer. */
  readonly keepsFinalRows?: boolean
  /** Tools of MCP servers. Their results are not evidence and are never cited. */
  readonly foreign?: {
    has(name: string): boolean
    run(call: Pick<ToolCall, 'name' | 'input'>, signal: AbortSignal): Promise<string>
  } | null
}

/** These end the question. The model sees other expected failures, and may try something else. */
const FATAL_CODES: readonly ErrorCode[] = ['cancelled', 'shutting_down']

/**
 * Runs read-only tools on the main thread. Remembers shown chunks, to detect invented citations.
 */
export class ToolHost {
  readonly #options: ToolHostOptions
  readonly #reader: DataReader
  readonly #seen = new Map<string, ShownPassage>()
  readonly #rows: ShownRows[] = []
  readonly #charts: Chart[] = []
  readonly #final = new FinalRows()
  #queries = 0
  #hasForeignRows = false

  constructor(options: ToolHostOptions) {
    this.#options = options
    const { knowledgeBases, tables } = options.data
    const scope = { project: options.project, allowed: { knowledgeBases, tables } }
    this.#reader = dataReader(scope, options.select)
  }

  /** The tool's result or error as text for the model, at most `observationBytesMax` bytes long. */
  async run(
    { name, input }: Pick<ToolCall, 'name' | 'input'>,
    signal: AbortSignal,
  ): Promise<string> {
    const { foreign } = this.#options
    if (foreign?.has(name)) {
      this.#hasForeignRows = true
      return foreign.run({ name, input }, signal)
    }
    if (!isToolName(name)) throw new AppError('internal', `There is no tool "${name.slice(0, 80)}"`)
    try {
      return await this.#run(name, input, signal)
    } catch (error) {
      signal.throwIfAborted()
      const isTold = error instanceof AppError && !FATAL_CODES.includes(error.code)
      if (!isTold) throw error
      return firstBytes(failureText(name, error.message), this.#options.observationBytesMax)
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
        return this.#query(statementIn(input), signal)
      case 'metadata_values_tool':
        return metadataValues(input, this.#reader, signal, bytesMax)
      case 'read_document_tool': {
        const { text, passages } = await readDocument(input, this.#reader, signal, bytesMax)
        for (const passage of passages) this.#remember(passage)
        return text
      }
      case 'chart_tool':
        return this.#chart(input, signal)
    }
  }

  async #chart(input: string, signal: AbortSignal): Promise<string> {
    const { observationBytesMax: bytesMax } = this.#options
    const { chart, text } = await drawChart(input, this.#reader, signal, bytesMax)
    if (this.#charts.length >= AGENT_LIMITS.chartsMax) {
      return `The answer has ${AGENT_LIMITS.chartsMax} charts already: this one is not shown`
    }
    this.#charts.push(chart)
    return text
  }

  async #query(sql: string, signal: AbortSignal): Promise<string> {
    this.#queries += 1
    const order = this.#queries
    const result = await this.#read(sql, signal)
    if (this.#options.keepsFinalRows) this.#final.offer(order, sql, result)
    const { observationRowsMax: rowsMax } = AGENT_LIMITS
    const seen = { ...result, rows: result.rows.slice(0, rowsMax) }
    const hasMore = result.hasMore || seen.rows.length < result.rows.length
    const { text, shownCount } = observationOf(
      { ...seen, hasMore },
      {
        rowsMax,
        bytesMax: this.#options.observationBytesMax,
      },
    )
    const { data, project } = this.#options
    const origins = namedKnowledgeBases(sql, data.knowledgeBases, project)
    const shown = { columns: result.columns, rows: result.rows.slice(0, shownCount) }
    const passages = passagesOf(shown, origins, showsPlainChunks(sql))
    for (const passage of passages) this.#remember(passage)
    if (passages.length === 0) this.#noteRows(sql, shown, hasMore)
    return `${noteOn(sql)}${text}`
  }

  async #read(sql: string, signal: AbortSignal): Promise<TypedRows> {
    try {
      const { keepsFinalRows } = this.#options
      const rowsMax = keepsFinalRows ? AGENT_LIMITS.finalRowsMax : AGENT_LIMITS.observationRowsMax
      return await this.#reader.read(sql, signal, rowsMax)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof AppError)) throw error
      const message = await withHint(error.message, sql, this.#reader, signal)
      throw new AppError(error.code, message, { cause: error })
    }
  }

  #noteRows(sql: string, { columns, rows }: Omit<FirstRows, 'hasMore'>, isCut: boolean): void {
    this.#rows.push({ sql, column_names: columns, data: rows, isCut })
    if (this.#rows.length > AGENT_LIMITS.statementsKeptMax) this.#rows.shift()
  }

  #remember(passage: ShownPassage): void {
    // Two knowledge bases may have chunks with the same id.
    const key = JSON.stringify([passage.chunkId, passage.origins.map((kb) => kb.id)])
    const known = this.#seen.get(key)
    if (known === undefined && this.#seen.size >= AGENT_LIMITS.passagesMax) return
    this.#seen.set(key, mergedPassage(known, passage))
  }

  /** The chunks that the answer names and that the model saw. */
  citations(answer: string, signal: AbortSignal): Promise<readonly Citation[]> {
    return citationsOf(answer, this.#seen.values(), this.#reader, signal)
  }

  findings(answer: string): AnswerFindings {
    const statements = statementsOf(answer, this.#rows)
    const charts = [...this.#charts]
    return {
      ...(statements.length === 0 ? {} : { statements }),
      ...(charts.length === 0 ? {} : { charts }),
      ...(this.#options.keepsFinalRows ? { result: this.#final.result } : {}),
    }
  }

  /** Whether the model saw rows other than chunks. */
  get hasRows(): boolean {
    return this.#rows.length > 0 || this.#hasForeignRows
  }

  /** The chunks that searches returned to the model. */
  get foundPassages(): readonly FoundPassage[] {
    return [...this.#seen.values()].flatMap(({ documentId, text, place, relevance }) => {
      if (text === null || relevance === null) return []
      return [{ documentId: documentId ?? '', text, heading: place?.heading ?? '', relevance }]
    })
  }

  /** The texts of all chunks that the model saw. */
  get context(): readonly string[] {
    return [...this.#seen.values()].flatMap(({ text }) => (text === null ? [] : [text]))
  }
}

function failureText(name: ToolName, message: string): string {
  if (name !== 'kb_query_tool') return `Error: ${message}`
  const next = 'Please check that the knowledge base exists and your query syntax is correct.'
  return `Error executing knowledge base query: ${message}. ${next}`
}

/** Warns that `content LIKE` does not filter, which people who know SQL do not expect. */
function noteOn(sql: string): string {
  const isMisread = /(?<![\w."`])["`]?content["`]?\s+(?:not\s+)?i?like\s/i.test(sql)
  return isMisread ? LIKE_NOTE : ''
}

const LIKE_NOTE =
  "Note: content LIKE ranks by meaning and does not filter; chunk_content LIKE '%word%' is literal.\n"

/** Names as a JSON array, as many as fit. */
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
