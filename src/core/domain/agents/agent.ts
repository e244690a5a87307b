import type { KnowledgeBase } from '../knowledge-base.ts'
import type { ModelRef } from '../model-ref.ts'
import { FILES_DATABASE, nameKey } from '../names.ts'
import { namesWithoutEnding } from '../uploaded-file.ts'

/** What an agent may read: `<project>.<knowledge base>`, `<data source>.<table>`, globs allowed. */
export interface AgentData {
  readonly knowledgeBases: readonly string[]
  readonly tables: readonly string[]
  /** The names are whole: a `*` in one is its own. */
  readonly isExact?: true
  /** Servers whose tools it may call. Missing: none. */
  readonly mcp?: readonly McpServer[]
  /**
   * The namespaces of the user who named this data: its views can read nothing else. Missing: all.
   */
  readonly within?: readonly string[]
  /** What its reader may not name is left out. Never stored. */
  readonly isPart?: true
}

/** The tables behind an agent's `data` at one moment: all its statements may read. */
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

export interface Agent {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  /** null: the default of the settings, else the built-in one. */
  readonly model: ModelRef | null
  readonly data: AgentData | null
  readonly promptTemplate: string | null
  readonly params: AgentParams
  readonly createdAt: string
  readonly updatedAt: string
}

export type AgentDraft = Omit<Agent, 'id' | 'projectName' | 'createdAt' | 'updatedAt'>

export type AgentChanges = Partial<Omit<AgentDraft, 'projectId'>>

/** One turn of the conversation that a client sends. */
export interface ConversationTurn {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

/** An external server whose tools an agent may call, over the Model Context Protocol (streamable HTTP). */
export interface McpServer {
  /** Its tools are called `<name>__<tool>`. */
  readonly name: string
  /** May contain secrets, see `shownUrl`. */
  readonly url: string
  /** All secret. */
  readonly headers: Readonly<Record<string, string>>
  /** Names or globs of tools it may call. */
  readonly tools: readonly string[]
}

/** How a stored secret is shown. Sent back by a client that saves what it read, it means "leave as it is". */
export const MCP_MASK = '******'

/** A part of a path that looks like a key: long, with a digit, and no word. */
const KEY_PART = /^(?=.*\d)[\w.~=-]{20,}$/

/** The address without what may be a key: every value of the query, and what looks like one in the path. */
export function shownUrl({ url }: Pick<McpServer, 'url'>): string {
  const shown = new URL(url)
  const path = shown.pathname.split('/').map((part) => (KEY_PART.test(part) ? MCP_MASK : part))
  const query = [...shown.searchParams.keys()].map(
    (key) => `${encodeURIComponent(key)}=${MCP_MASK}`,
  )
  return `${shown.origin}${path.join('/')}${query.length === 0 ? '' : `?${query.join('&')}`}`
}

/**
 * The secrets to remove from texts. Not every header is a key, and a word such as `issues` in one would vanish everywhere.
 */
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

/** Names of what an agent may read, as models write them. */

/**
 * The existing name that is meant: complete, without the home project, without `files`, or without its qualifier if that is
 * unambiguous. Ignores quotes, white space around dots, and case.
 * @param home the project of names without a qualifier
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

/** A name has up to three parts of 128 characters, or it is none. */
const DATA_NAME_CHARS_MAX = 1_000

/** A name without its qualifier, a file's also without its ending. */
function shortKeys(name: string): readonly string[] {
  const [first = '', ...rest] = name.split('.')
  const short = rest.join('.')
  if (nameKey(first) !== FILES_DATABASE) return [looseKey(short), looseKey(rest.at(-1) ?? '')]
  const endless = namesWithoutEnding(short)
  return [short, ...endless, ...endless.map((one) => `${first}.${one}`)].map(looseKey)
}

/** The hint for a model that named an unknown or forbidden table: the existing names, best match first. */
export function notAvailable(written: string, names: readonly string[]): string {
  const shown = namesLike(written, names).slice(0, NAMES_SHOWN_MAX)
  const rest = names.length - shown.length
  const more = rest === 0 ? '' : ` and ${rest} more`
  return `${written.slice(0, 200).toWellFormed()} is not available here. Available: ${shown.join(', ') || 'none'}${more}`
}

const NAMES_SHOWN_MAX = 50

/** Best match first; ties keep their order. */
function namesLike(written: string, names: readonly string[]): readonly string[] {
  const wanted = pairsOf(looseKey(written).slice(0, PAIRS_MAX))
  const ranked = names.map((name, index) => {
    return { name, index, likeness: likeness(wanted, pairsOf(looseKey(name).slice(0, PAIRS_MAX))) }
  })
  ranked.sort((one, other) => other.likeness - one.likeness || one.index - other.index)
  return ranked.map(({ name }) => name)
}

const PAIRS_MAX = 200

/** All pairs of adjacent letters (Dice 1945, Adamson and Boreham 1974). */
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
