import type { Agent, McpServer } from '../../core/domain/agents/agent.ts'
import { byteSize, firstBytes, firstChars } from '../../core/domain/agents/agent-limits.ts'
import type { ForeignTool, ForeignTools } from '../../core/domain/ports/foreign-tool-ports.ts'
import type { JsonSchema, ToolCall, ToolSpec } from '../../core/domain/ports/model-ports.ts'
import { isObject, parsedArguments } from '../../core/json.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import { matchesGlob } from '../data/remote-table-names.ts'
import { harmless } from '../loop/data-fence.ts'

/** The limit for each question. */
const TOOLS_MAX = 64
const SPECS_CHARS_MAX = 65_536
const DESCRIPTION_CHARS_MAX = 1_000
/** The length limit of providers for tool names. */
const FOREIGN_NAME_CHARS_MAX = 64
const NAMES_SHOWN = 20
const TOOL_WARNINGS_MAX = 20

interface Offered {
  readonly server: McpServer
  readonly tool: string
  readonly spec: ToolSpec
}

/** The foreign tools for one question, limited to those the agent allows. */
class QuestionForeignTools {
  readonly #tools: ForeignTools
  readonly #session: string
  readonly #offered: ReadonlyMap<string, Offered>
  readonly #bytesMax: number
  readonly #warnings: Set<string>

  constructor(tools: ForeignTools, { session, bytesMax }: ForeignTerms, found: Found) {
    this.#tools = tools
    this.#session = session
    this.#bytesMax = bytesMax
    this.#offered = found.offered
    this.#warnings = new Set(found.warnings)
  }

  get specs(): readonly ToolSpec[] {
    return [...this.#offered.values()].map(({ spec }) => spec)
  }

  /** Problems so far, such as an unreachable server or a name without a match. */
  get warnings(): readonly string[] {
    return [...this.#warnings].slice(0, TOOL_WARNINGS_MAX)
  }

  has(name: string): boolean {
    return this.#offered.has(name)
  }

  /** The tool's result or error as text for the model. @throws the signal's reason */
  async run(
    { name, input }: Pick<ToolCall, 'name' | 'input'>,
    signal: AbortSignal,
  ): Promise<string> {
    const offered = this.#offered.get(name)
    const values = parsedArguments(input)
    if (offered === undefined || values === null) return `Error: ${name} takes a JSON object`
    const { server, tool } = offered
    const call = { session: this.#session, server, tool, input: values }
    const outcome = await this.#tools.call(call, signal)
    if (outcome.kind === 'failed') {
      this.#warnings.add(outcome.message)
      return firstBytes(`Error: ${outcome.message}`, this.#bytesMax)
    }
    if (outcome.isError) return this.#cut(`Error reported by ${name}: ${outcome.text}`)
    return this.#cut(outcome.text === '' ? 'The tool returned nothing.' : outcome.text)
  }

  #cut(text: string): string {
    if (byteSize(text) <= this.#bytesMax) return text
    const note = `\n(cut at ${this.#bytesMax} bytes)`
    return `${firstBytes(text, Math.max(0, this.#bytesMax - note.length))}${note}`
  }

  end(): void {
    if (this.#offered.size > 0) this.#tools.end(this.#session)
  }
}

interface ForeignTerms {
  readonly session: string
  readonly bytesMax: number
  readonly isAble: boolean
}

/** Used where MCP servers are not available. */
export const NO_FOREIGN_TOOLS: ForeignTools = {
  list: async () => ({ kind: 'listed', tools: [] }),
  call: async () => ({ kind: 'failed', message: 'There are no tools of MCP servers' }),
  end: () => {},
}

interface Found {
  readonly offered: ReadonlyMap<string, Offered>
  readonly warnings: readonly string[]
}

/** A server that is down gives a warning. To end the tools, call `end` or abort the signal. */
export async function foreignToolsOf(
  { data }: Agent,
  tools: ForeignTools,
  terms: ForeignTerms,
  signal: AbortSignal,
): Promise<QuestionForeignTools> {
  const servers = terms.isAble ? (data?.mcp ?? []) : []
  const listings = await Promise.all(
    servers.map(async (server) => ({ server, found: await tools.list(server, signal) })),
  )
  const offered = new Map<string, Offered>()
  const isMissed = !terms.isAble && (data?.mcp ?? []).length > 0
  const warnings = isMissed ? [BUILTIN_CALLS_NONE] : []
  let left = SPECS_CHARS_MAX
  let leftOut = 0
  for (const { server, found } of listings) {
    if (found.kind === 'failed') {
      warnings.push(found.message)
      continue
    }
    warnings.push(...missingOf(server, found.tools))
    for (const tool of found.tools) {
      if (!isAllowed(server, tool.name)) continue
      const spec = specOf(server, tool, offered)
      const size = JSON.stringify(spec).length
      if (offered.size >= TOOLS_MAX || size > left) {
        leftOut += 1
        continue
      }
      left -= size
      offered.set(spec.name, { server, tool: tool.name, spec })
    }
  }
  if (leftOut > 0) {
    const limits = `at most ${TOOLS_MAX}, with ${SPECS_CHARS_MAX} characters of descriptions`
    warnings.push(
      `${leftOut} tools of MCP servers are left out (${limits}): allow fewer in "tools"`,
    )
  }
  const question = new QuestionForeignTools(tools, terms, { offered, warnings })
  if (servers.length > 0) onAbort(signal, () => question.end())
  return question
}

export const BUILTIN_CALLS_NONE =
  'The built-in model cannot call tools of MCP servers: give the agent a chat model'

/** Only tools that match a pattern are allowed, because a server may offer new ones at any time. */
function isAllowed({ tools }: McpServer, name: string): boolean {
  return tools.some((pattern) => matchesGlob(pattern, name))
}

function missingOf(server: McpServer, listed: readonly ForeignTool[]): readonly string[] {
  const names = listed
    .slice(0, NAMES_SHOWN)
    .map(({ name }) => harmlessLine(name, FOREIGN_NAME_CHARS_MAX))
  const rest = listed.length > names.length ? ', …' : ''
  const offer = names.length === 0 ? 'It offers none' : `It offers ${names.join(', ')}${rest}`
  if (server.tools.length === 0) {
    return [`${noneAllowed(server.name)}. ${offer}`]
  }
  const missing = server.tools.filter((pattern) => {
    return !listed.some(({ name }) => matchesGlob(pattern, name))
  })
  return missing.map((pattern) => {
    return `No tool found on the MCP server ${server.name}: ${pattern.slice(0, 60)}. ${offer}`
  })
}

export function noneAllowed(name: string): string {
  return `No tool of the MCP server ${name} is allowed: name some in "tools"`
}

function specOf(
  server: McpServer,
  { name, description, schema }: ForeignTool,
  taken: ReadonlyMap<string, unknown>,
): ToolSpec {
  const about = harmlessLine(description, DESCRIPTION_CHARS_MAX)
  return {
    name: freeToolName(`${server.name}__${name.replaceAll(/[^\w-]/g, '_')}`, taken),
    description: `A tool of the MCP server ${server.name}, which describes it as: ${about || '(nothing)'}`,
    input: null,
    schema: foreignSchema(schema),
  }
}

/** Adds a number if two tools would get the same name. */
function freeToolName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  const name = wanted.slice(0, FOREIGN_NAME_CHARS_MAX)
  if (!taken.has(name)) return name
  const other = (number: number) => {
    const ending = `_${number}`
    return `${wanted.slice(0, FOREIGN_NAME_CHARS_MAX - ending.length)}${ending}`
  }
  let number = 2
  while (taken.has(other(number))) number += 1
  return other(number)
}

const SCHEMA_DEPTH_MAX = 12
const MEMBERS_MAX = 100
const SCHEMA_TEXT_CHARS_MAX = 300

type Members = Readonly<Record<string, unknown>>

/**
 * The argument schema of an MCP tool, reduced to what every provider accepts: known JSON schema
 * keywords in valid form, with short texts. A provider would refuse the whole question because of
 * one invalid keyword, or alternatives next to properties. The MCP server checks the arguments
 * itself.
 */
function foreignSchema(sent: Members | null): JsonSchema {
  const { anyOf: _any, oneOf: _one, enum: _enum, const: _const, ...plain } = cleaned(sent ?? {}, 0)
  const properties = isObject(plain.properties) ? plain.properties : {}
  const listed: readonly unknown[] = Array.isArray(plain.required) ? plain.required : []
  const required = listed.filter(
    (name) => typeof name === 'string' && Object.hasOwn(properties, name),
  )
  const { required: _required, ...rest } = plain
  return {
    ...rest,
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
  }
}

function cleaned(schema: unknown, depth: number): Members {
  if (!isObject(schema) || depth > SCHEMA_DEPTH_MAX) return {}
  const entries = Object.entries(KEYWORDS).flatMap(([keyword, clean]) => {
    if (!Object.hasOwn(schema, keyword)) return []
    const value = clean(schema[keyword], depth)
    return value === undefined ? [] : [[keyword, value] as const]
  })
  return Object.fromEntries(entries)
}

type Clean = (value: unknown, depth: number) => unknown

const schemas: Clean = (value, depth) => {
  if (!isObject(value)) return undefined
  const entries = Object.entries(value).slice(0, MEMBERS_MAX)
  // Anthropic rejects all other names.
  const named = entries.filter(([name]) => /^[\w.-]{1,64}$/.test(name))
  return Object.fromEntries(named.map(([name, schema]) => [name, cleaned(schema, depth + 1)]))
}

const schemaList: Clean = (value, depth) => {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.slice(0, MEMBERS_MAX).map((schema) => cleaned(schema, depth + 1))
}

const SCHEMA_TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']

const type: Clean = (value) => {
  if (Array.isArray(value)) {
    const known = SCHEMA_TYPES.filter((one) => value.includes(one))
    return known.length === 0 ? undefined : [...new Set(known)]
  }
  return SCHEMA_TYPES.some((known) => known === value) ? value : undefined
}

const plainMember: Clean = (value) =>
  typeof value === 'string' ? harmlessLine(value, SCHEMA_TEXT_CHARS_MAX) : undefined
const amount: Clean = (value) => (Number.isFinite(value) ? value : undefined)
const scalar: Clean = (value) => {
  if (typeof value === 'string') return harmless(firstChars(value, SCHEMA_TEXT_CHARS_MAX))
  return value === null || typeof value === 'boolean' || Number.isFinite(value) ? value : undefined
}
const scalars: Clean = (value) => {
  if (!Array.isArray(value)) return undefined
  const known = value.slice(0, MEMBERS_MAX).map((one) => scalar(one, 0))
  return known.length === 0 || known.includes(undefined) ? undefined : [...new Set(known)]
}
const names: Clean = (value) => {
  if (!Array.isArray(value)) return undefined
  const known = value.filter((one) => typeof one === 'string').slice(0, MEMBERS_MAX)
  return known.length === 0 ? undefined : [...new Set(known)]
}

/** References and patterns are dropped: they help a malicious server more than a model. */
const KEYWORDS: Readonly<Record<string, Clean>> = {
  type,
  title: plainMember,
  description: plainMember,
  properties: schemas,
  required: names,
  items: (value, depth) => (isObject(value) ? cleaned(value, depth + 1) : undefined),
  anyOf: schemaList,
  oneOf: schemaList,
  enum: scalars,
  const: scalar,
  default: scalar,
  minimum: amount,
  maximum: amount,
  minItems: amount,
  maxItems: amount,
  minLength: amount,
  maxLength: amount,
  additionalProperties: (value, depth) => {
    if (typeof value === 'boolean') return value
    return isObject(value) ? cleaned(value, depth + 1) : undefined
  },
}

/** One line, shortened, without sequences that some servers read as a message's end. */
function harmlessLine(value: string, charsMax: number): string {
  const line = harmless(value.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')).trim()
  return line.length <= charsMax ? line : `${firstChars(line, charsMax)} …`
}
