import type { KnowledgeBase } from '../knowledge-base.ts'
import type { ModelRef } from '../model-ref.ts'
import { FILES_DATABASE, nameKey, type ProjectObject } from '../names.ts'
import { namesWithoutEnding } from '../uploaded-file.ts'

/** What an agent may read: `<project>.<knowledge base>`, `<data source>.<table>`, or globs. */
export interface AgentData {
  readonly knowledgeBases: readonly string[]
  readonly tables: readonly string[]
  /** Set if the names are literal, so a `*` in a name is not a wildcard. */
  readonly isExact?: true
  /** MCP servers whose tools the agent may call; none if missing. */
  readonly mcp?: readonly McpServer[]
  /** Of the user who defined this data: its views read nothing else. Missing means all. */
  readonly within?: readonly string[]
  /** Set if names the reader may not use were left out. Never stored. */
  readonly isPart?: true
}

/** At one moment; the agent's statements may read only these. */
export interface AllowedData {
  readonly knowledgeBases: readonly KnowledgeBase[]
  /** `files.<name>`, `<project>.<table or view>`. */
  readonly tables: readonly string[]
}

export interface AgentParams {
  readonly timeoutSeconds?: number
  readonly maxSteps?: number
  readonly mode?: 'text' | 'sql'
  readonly returnContext?: boolean
}

export interface Agent extends ProjectObject {
  /** null means the default from the settings, or the built-in model. */
  readonly model: ModelRef | null
  readonly data: AgentData | null
  readonly promptTemplate: string | null
  readonly params: AgentParams
  readonly updatedAt: string
}

export type AgentDraft = Omit<Agent, 'id' | 'projectName' | 'createdAt' | 'updatedAt'>

export type AgentChanges = Partial<Omit<AgentDraft, 'projectId'>>

export interface ConversationTurn {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

/** Over the Model Context Protocol (streamable HTTP). */
export interface McpServer {
  /** The prefix of its tools, which are called `<name>__<tool>`. */
  readonly name: string
  /** May contain secrets, see `shownUrl`. */
  readonly url: string
  /** All values are treated as secret. */
  readonly headers: Readonly<Record<string, string>>
  /** Names or globs of the tools the agent may call. */
  readonly tools: readonly string[]
}

/** Clients send it back for a stored secret to mean "leave unchanged". */
export const MCP_MASK = '******'

/** A path segment that looks like a key: long, with a digit. */
const KEY_PART = /^(?=.*\d)[\w.~=-]{20,}$/

/** The address with possible secrets masked: query values, and path segments like keys. */
export function shownUrl({ url }: Pick<McpServer, 'url'>): string {
  const shown = new URL(url)
  const path = shown.pathname.split('/').map((part) => (KEY_PART.test(part) ? MCP_MASK : part))
  const query = [...shown.searchParams.keys()].map(
    (key) => `${encodeURIComponent(key)}=${MCP_MASK}`,
  )
  return `${shown.origin}${path.join('/')}${query.length === 0 ? '' : `?${query.join('&')}`}`
}

/** Without short header values: removing a word like `issues` would garble texts. */
export function secretsOfMcpServer({ url, headers }: McpServer): readonly string[] {
  const { searchParams, pathname } = new URL(url)
  const named = [...Object.entries(headers), ...searchParams]
  const values = named.flatMap(([name, value]) => {
    const parts = [value, ...value.split(/\s+/).slice(1)]
    return parts.filter((part) => (SECRET_NAME.test(name) ? part.length >= 6 : isKeyLike(part)))
  })
  return [...values, ...pathname.split('/').filter((part) => KEY_PART.test(part))]
}

const SECRET_NAME = /auth|key|token|secret|password|credential|cookie|signature/i

function isKeyLike(text: string): boolean {
  return text.length >= 12 && /\d/.test(text)
}

/** Matches the names that models write to the data an agent may read. */

/**
 * The existing name that `written` refers to. It may be the full name, omit the home project or
 * `files`, or be unqualified if that is unambiguous. Quotes, white space around dots, and case are
 * ignored.
 * @param home the project for unqualified names
 */
export function nameMeant(
  written: string,
  home: string,
  names: readonly string[],
): string | undefined {
  const exact = names.find((name) => nameKey(name) === nameKey(written))
  if (exact !== undefined) return exact
  const key = looseKey(written)
  const whole = names.find((name) => looseKey(name) === key)
  if (whole !== undefined) return whole
  const atHome = names.find((name) => looseKey(name) === looseKey(`${home}.${key}`))
  if (atHome !== undefined) return atHome
  const others = names.filter((name) => shortKeys(name).includes(key))
  return others.length === 1 ? others[0] : undefined
}

function looseKey(name: string): string {
  return nameKey(name)
    .slice(0, DATA_NAME_CHARS_MAX)
    .replaceAll(/["`[\]']/g, '')
    .split('.')
    .map((part) => part.trim())
    .join('.')
}

/** Enough for three parts of 128 characters each. */
const DATA_NAME_CHARS_MAX = 1_000

/** A name without its qualifier; for a file also without its extension. */
function shortKeys(name: string): readonly string[] {
  const [first = '', ...rest] = name.split('.')
  const short = rest.join('.')
  if (nameKey(first) !== FILES_DATABASE) return [looseKey(short), looseKey(rest.at(-1) ?? '')]
  const endless = namesWithoutEnding(short)
  return [short, ...endless, ...endless.map((one) => `${first}.${one}`)].map(looseKey)
}

/** For a model that named another one: the existing names, most similar first. */
export function notAvailable(written: string, names: readonly string[]): string {
  const shown = namesLike(written, names).slice(0, NAMES_SHOWN_MAX)
  const rest = names.length - shown.length
  const more = rest === 0 ? '' : ` and ${rest} more`
  return `${written.slice(0, 200).toWellFormed()} is not available here. Available: ${shown.join(', ') || 'none'}${more}`
}

const NAMES_SHOWN_MAX = 50

/** Most similar first; ties keep their order. */
function namesLike(written: string, names: readonly string[]): readonly string[] {
  const wanted = pairsOf(looseKey(written).slice(0, PAIRS_MAX))
  const ranked = names.map((name, index) => {
    return { name, index, likeness: likeness(wanted, pairsOf(looseKey(name).slice(0, PAIRS_MAX))) }
  })
  ranked.sort((one, other) => other.likeness - one.likeness || one.index - other.index)
  return ranked.map(({ name }) => name)
}

const PAIRS_MAX = 200

/** All pairs of adjacent letters, for Dice similarity (Dice 1945, Adamson and Boreham 1974). */
function pairsOf(text: string): ReadonlySet<string> {
  const parts = text.split('.')
  const last = parts.at(-1) ?? ''
  const own = [...parts, `^${last}$`]
  return new Set(own.flatMap((part) => Array.from(part, (_, at) => part.slice(at, at + 2))))
}

function likeness(first: ReadonlySet<string>, second: ReadonlySet<string>): number {
  const total = first.size + second.size
  return total === 0 ? 0 : (2 * first.intersection(second).size) / total
}
