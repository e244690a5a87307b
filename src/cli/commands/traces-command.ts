import type { TRACE, TRACE_LIST } from '../../api/http/answers/records/agent-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import type { CommandContext, RunCommand } from '../command.ts'
import { CommandError, usageError } from '../command-error.ts'
import type { Output } from '../output.ts'
import { safeLine, safeText, truncated } from '../terminal-text.ts'
import { actionOf, show } from './record-output.ts'

/** Lines shown of an observation, unless all are requested. */
const LINES_SHOWN = 4
const COLUMNS_UNKNOWN = 120

type Trace = Wire<typeof TRACE>
type TraceList = Wire<typeof TRACE_LIST>
type Turn = Trace['turns'][number]
type Step = Trace['steps'][number]

export const run: RunCommand = async (context) => {
  const [word = 'list', id] = context.words
  const action = actionOf('traces', word, ['list', 'show'])
  if (action === 'show') return showOne(id, context)
  if (id !== undefined) throw usageError('traces list takes no name: --agent says whose')
  return list(context)
}

const FILTERS = ['agent', 'project', 'outcome', 'from', 'to', 'q', 'limit']

async function found({ client, options, signal }: CommandContext, more = {}) {
  const filters = options.asQuery(FILTERS, more)
  const [, project, agent] = /^([^.]+)\.(.+)$/.exec(filters.get('agent') ?? '') ?? []
  if (project !== undefined && agent !== undefined) {
    filters.set('project', project)
    filters.set('agent', agent)
  }
  return client.send<TraceList>('GET', `/api/traces?${filters}`, { signal })
}

async function list(context: CommandContext): Promise<undefined> {
  const { output } = context
  const page = await found(context)
  await show(output, page, () => {
    if (page.items.length === 0) return 'There are no such traces'
    const names = ['trace', 'started (UTC)', 'agent', 'outcome', 'seconds', 'calls']
    return {
      names: [...names, 'read', 'written', 'cost', 'question'],
      rows: page.items.map(traceRow),
    }
  })
  if (!output.isJson && page.next !== null) output.say('There are more: --limit, --from, --to')
  return undefined
}

function traceRow(item: TraceList['items'][number]): readonly unknown[] {
  const { trace_id: id, outcome, error_code: code, question, step_count: steps } = item
  const { input_tokens: read, output_tokens: written } = item.usage ?? {}
  const started = item.started_at.slice(0, 19)
  const agent = `${item.project}.${item.agent}`
  const seconds = Number((item.took_ms / 1000).toFixed(2))
  return [id, started, agent, code ?? outcome, seconds, steps, read, written, item.cost, question]
}

async function showOne(id: string | undefined, context: CommandContext): Promise<undefined> {
  const { client, output, options, signal } = context
  const newest = id === undefined ? (await found(context, { limit: '1' })).items[0] : undefined
  const wanted = id ?? newest?.trace_id
  if (wanted === undefined) throw new CommandError('trace_not_found', 'There are no such traces')
  const path = `/api/traces/${encodeURIComponent(wanted)}`
  const trace = await client.send<Trace>('GET', path, { signal })
  if (output.isJson) await output.json(trace)
  else await new TraceTree(output, options.flag('full') === true).show(trace)
  return undefined
}

class TraceTree {
  readonly #output: Output
  readonly #isFull: boolean
  readonly #columns: number

  constructor(output: Output, isFull: boolean) {
    this.#output = output
    this.#isFull = isFull
    this.#columns = isFull ? Number.POSITIVE_INFINITY : (output.columns ?? COLUMNS_UNKNOWN)
  }

  async show(trace: Trace): Promise<void> {
    const output = this.#output
    const model = [trace.provider, trace.model].filter(Boolean).join('/')
    await this.#line(output.bold(safeLine(trace.question)))
    await this.#line(
      [
        `${trace.project}.${trace.agent}`,
        model,
        `${trace.started_at.slice(0, 19)} UTC`,
        milliseconds(trace.took_ms),
        tokens(trace.usage),
        trace.cost === null ? '' : `cost ${trace.cost}`,
      ]
        .filter(Boolean)
        .map(safeLine)
        .join(' · '),
    )
    for (const event of inOrder(trace)) await this.#event(event)
    await this.#end(trace)
  }

  async #event(event: Turn | Step): Promise<void> {
    const times = `${milliseconds(event.took_ms)} at ${milliseconds(event.start_ms)}`
    if (!('tool' in event)) {
      const what = event.tool_calls > 0 ? `${event.tool_calls} called` : (event.finish ?? 'no end')
      const parts = ['model', safeLine(what), times, tokens(event.usage)]
      await this.#line(`├─ ${parts.filter(Boolean).join(' · ')}`)
      return
    }
    await this.#line(`│  ├─ ${this.#output.cyan(safeLine(event.tool))} · ${times}`)
    const input = event.input.trim()
    if (input !== '') await this.#texts(input, '│  │  → ')
    await this.#texts(event.observation, '│  │  ')
  }

  async #end(trace: Trace): Promise<void> {
    const error = trace.error === null ? '' : `: ${safeLine(trace.error)}`
    const code = trace.error_code === null ? '' : ` (${trace.error_code})`
    await this.#line(`└─ ${safeLine(trace.outcome)}${code}${error}`)
    for (const line of safeText(trace.answer ?? '').split('\n'))
      await this.#output.line(`   ${line}`)
    const cited = trace.citations.map(({ knowledge_base: kb, document_id: id }) => `${kb} ${id}`)
    if (cited.length > 0)
      await this.#line(`   cites ${[...new Set(cited)].map(safeLine).join(', ')}`)
    for (const warning of trace.warnings) await this.#line(`   warning: ${safeLine(warning)}`)
    const { feedback } = trace
    if (feedback === null) return
    const comment = feedback.comment === null ? '' : `: ${safeLine(feedback.comment)}`
    await this.#line(`   rated ${feedback.rating}${comment}`)
  }

  async #texts(text: string, lead: string): Promise<void> {
    const lines = safeText(text).trim().split(/\r?\n/)
    const shown = this.#isFull ? lines : lines.slice(0, LINES_SHOWN)
    for (const line of shown) await this.#dim(`${lead}${line}`)
    if (lines.length > shown.length) {
      await this.#dim(`${lead}… ${lines.length - shown.length} more lines: --full`)
    }
  }

  async #dim(text: string): Promise<void> {
    await this.#output.line(this.#output.dim(this.#cut(text)))
  }

  async #line(text: string): Promise<void> {
    await this.#output.line(text)
  }

  #cut(text: string): string {
    return this.#isFull ? text : truncated(text, this.#columns)
  }
}

/** Each turn of the model, followed by its calls. */
function inOrder({ turns, steps }: Trace): readonly (Turn | Step)[] {
  const left = [...steps]
  const events = turns.flatMap((turn) => [turn, ...left.splice(0, turn.tool_calls)])
  // A stopped run may have calls of an unfinished turn.
  return [...events, ...left]
}

function milliseconds(time: number): string {
  return time < 1000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(2)} s`
}

function tokens(usage: Trace['usage']): string {
  if (usage === null) return ''
  return `${usage.input_tokens} tokens read, ${usage.output_tokens} written`
}
