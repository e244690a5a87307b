import type {
  AnswerFindings,
  Citation,
  CompletionEvent,
} from '../../core/domain/agents/completion-event.ts'
import { counted } from '../../core/short-text.ts'
import {
  type CommandContext,
  DEFAULT_PROJECT_NAME,
  type NamedObject,
  namedObject,
  pathOf,
  type RunCommand,
} from '../command.ts'
import { CommandError, readStandardInput } from '../command-error.ts'
import { nearest } from '../command-line.ts'
import { connectionLost, eventsOf } from '../http-client.ts'
import { FlowingText, safeLine, safeText, truncated, wrapped } from '../terminal-text.ts'

export const askAgent: RunCommand = async (context) => {
  const { words, options, client, output, signal } = context
  const [agent = '', ...rest] = words
  const named = namedObject(agent, options)
  const isPiped = rest.length === 0 || (rest.length === 1 && rest[0] === '-')
  const question = isPiped ? await readStandardInput('a question') : rest.join(' ')
  const path = `${pathOf('agents', named)}/completions`
  const asked = {
    messages: [{ role: 'user', content: question }],
    conversation_id: options.text('conversation'),
  }
  if (output.isJson && options.flag('steps') !== true) {
    const answer = client.send('POST', path, { json: asked, signal })
    await output.json(await answer.catch((error) => explained(error, named, context)))
    return undefined
  }
  const body = { ...asked, stream_options: { deltas: true } }
  const response = await client
    .open('POST', `${path}/stream`, { json: body, signal })
    .catch((error) => explained(error, named, context))
  const shown = new ShownAnswer(context)
  for await (const event of eventsOf(response, client, signal)) {
    // The event is one of the types that the server's own code declares.
    await shown.add(event as CompletionEvent)
  }
  if (!shown.isOver) throw connectionLost(client.address, null)
  return undefined
}

/** If the agent is unknown, adds a list of the existing ones to the error. */
async function explained(
  error: unknown,
  { project, name }: NamedObject,
  { client, signal }: Pick<CommandContext, 'client' | 'signal'>,
): Promise<never> {
  if (!(error instanceof CommandError) || error.code !== 'agent_not_found') throw error
  const list = `/api/projects/${encodeURIComponent(project)}/agents`
  const agents = await client.send<readonly { readonly name: string }[]>('GET', list, { signal })
  const kb = pathOf('knowledge_bases', { project, name })
  const isKnowledgeBase = await client.send('GET', kb, { signal }).then(
    () => true,
    () => false,
  )
  if (isKnowledgeBase && /^\w+$/.test(`${project}${name}`)) {
    const create = `CREATE AGENT ${project}.${name}_helper USING data = {'knowledge_bases': ['${project}.${name}']}`
    const target = project === DEFAULT_PROJECT_NAME ? '' : `${project}.`
    const message = `${name} is a knowledge base, not an agent. Make an agent over it:
  eider sql "${create}"
  eider ask ${target}${name}_helper "…"
or look for passages: eider search ${target}${name} …`
    throw new CommandError(error.code, message, { status: error.status })
  }
  const names = agents.map((agent) => agent.name)
  const near = nearest(name, names)
  const known =
    names.length === 0
      ? `there are none. Create one for a knowledge base: eider sql "CREATE AGENT helper USING data = {'knowledge_bases': ['${project}.<kb>']}"`
      : `there are ${names.slice(0, 20).join(', ')}`
  const hint = near === undefined ? known : `did you mean ${near}?`
  const message = `There is no agent ${name} in ${project}: ${hint}`
  throw new CommandError(error.code, message, { status: error.status })
}

const TEXT_COLUMNS_MAX = 100
/** The id of a cited chunk, and text that may become one once more arrives. */
const CITED = /\[([^\][\n]{1,300}:\d+of\d+:\d+to\d+)\]/g
const CITED_START = /\[[^\][\n]{0,300}$/

class ShownAnswer {
  readonly #context: CommandContext
  readonly #lines: FlowingText
  #written = ''
  /** The end of the text that is held back, because it may become a citation. */
  #held = ''
  readonly #cited = new Set<string>()
  #isOver = false

  constructor(context: CommandContext) {
    this.#context = context
    const { columns } = context.output
    this.#lines = new FlowingText(columns === null ? null : Math.min(TEXT_COLUMNS_MAX, columns))
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async add(event: CompletionEvent): Promise<void> {
    const { output, options, client } = this.#context
    if (output.isJson) await output.json(event)
    if ('type' in event && event.type === 'end') this.#isOver = true
    if ('type' in event && event.type === 'error') {
      this.#isOver = true
      throw new CommandError(event.error_type, safeText(event.content))
    }
    if (output.isJson) return
    if ('actions' in event || 'steps' in event) this.#step(event)
    if ('type' in event && event.type === 'delta') await this.#text(event.content)
    if (!('output' in event)) return
    await this.#output(event.output)
    for (const warning of event.warnings ?? []) output.say(`Warning: ${safeLine(warning)}`)
    await this.#citations(event.citations ?? [])
    await this.#findings(event)
    if (options.flag('steps') === true) output.say(`${client.address}/traces/${event.trace_id}`)
    const { conversation_id: id } = event
    if (id !== undefined) output.say(`Continue with --conversation ${safeLine(id)}`)
  }

  async #findings({ statements = [], charts = [] }: AnswerFindings): Promise<void> {
    const { output, options } = this.#context
    if (options.flag('citations') === false) return
    const columns = Math.min(TEXT_COLUMNS_MAX, output.columns ?? TEXT_COLUMNS_MAX)
    const rows = statements.map(({ sql, data, is_cut }) => {
      return `${is_cut ? `${data.length}+ rows` : counted(data.length, 'row')} of: ${safeLine(sql)}`
    })
    const drawn = charts.map(({ spec, sql }) => {
      const title = typeof spec.title === 'string' ? ` "${safeLine(spec.title)}"` : ''
      return `a chart${title} (--json has it) of: ${safeLine(sql)}`
    })
    const lines = [...rows, ...drawn]
    if (lines.length > 0) await output.line()
    for (const line of lines) await output.line(output.dim(truncated(line, columns)))
  }

  async #text(content: string): Promise<void> {
    this.#written += content
    await this.#context.output.write(this.#lines.add(safeText(this.#numbered(content))))
  }

  /** The text so far, with chunk ids replaced by numbers. */
  #numbered(content: string): string {
    const text = this.#held + content
    const end = CITED_START.exec(text)?.index ?? text.length
    this.#held = text.slice(end)
    return text.slice(0, end).replace(CITED, (_, id: string) => `[${this.#numberOf(id)}]`)
  }

  #numberOf(chunkId: string): number {
    return [...this.#cited.add(chunkId)].indexOf(chunkId) + 1
  }

  async #output(answer: string): Promise<void> {
    const { output } = this.#context
    const rest = answer.startsWith(this.#written) ? answer.slice(this.#written.length) : ''
    const last = `${this.#numbered(rest)}${this.#held}`
    await output.write(`${this.#lines.add(safeText(last))}${this.#lines.end()}`)
    if (!answer.endsWith('\n')) await output.line()
  }

  #step(event: CompletionEvent): void {
    const { output, options } = this.#context
    if (options.flag('steps') !== true) return
    const columns = (process.stderr.columns ?? TEXT_COLUMNS_MAX) - 2
    const dim = (text: string) => (output.hasColours ? output.dim(text) : text)
    if ('actions' in event) {
      for (const { tool, tool_input: input } of event.actions) {
        output.say(dim(truncated(`→ ${safeLine(tool)} ${safeLine(input)}`, columns)))
      }
    }
    if ('steps' in event) {
      for (const { observation } of event.steps) {
        const lines = safeText(observation).trim().split('\n')
        const more = lines.length > 3 ? ` (${lines.length} lines)` : ''
        for (const line of lines.slice(0, 3)) output.say(dim(truncated(`  ${line}`, columns)))
        if (more !== '') output.say(dim(`  …${more}`))
      }
    }
  }

  async #citations(citations: readonly Citation[]): Promise<void> {
    const { output, options } = this.#context
    if (citations.length === 0 || options.flag('citations') === false) return
    const columns = Math.min(TEXT_COLUMNS_MAX, output.columns ?? TEXT_COLUMNS_MAX)
    await output.line()
    for (const citation of citations) {
      const { knowledge_base: kb, document_id: id, heading, page, text } = citation
      const place = [heading, page ? `page ${page}` : null].filter(Boolean).join(', ')
      const where = place === '' ? '' : `  ${output.dim(safeLine(place))}`
      const label = `[${this.#numberOf(citation.chunk_id)}]`
      await output.line(`${output.dim(label)} ${output.cyan(safeLine(`${kb} ${id}`))}${where}`)
      for (const line of wrapped(safeText(text.trim()), columns - 4)) {
        await output.line(output.dim(`    ${line}`))
      }
    }
  }
}
