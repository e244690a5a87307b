import { findIn, requireProject } from '../../core/domain/access/catalog-snapshot.ts'
import { mayName, type Principal, requireScope } from '../../core/domain/access/principal.ts'
import type { Agent, AgentChanges, AgentData, AgentParams } from '../../core/domain/agents/agent.ts'
import {
  agentModelOptionsOf,
  BUILTIN_CHAT_MODEL,
  BUILTIN_PROVIDER,
  type ModelRef,
  unknownProvider,
} from '../../core/domain/model-ref.ts'
import { checkedName } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { definedFields } from '../../core/json.ts'
import type { CatalogDeps } from './define-database.ts'
import {
  FieldReader,
  type Fields,
  INVALID_AGENT,
  invalidAgent,
  modelRefOf,
  refuseOptions,
  withNestedParams,
} from './fields.ts'
import { mcpServersOf, shownMcpServer } from './mcp-fields.ts'

export const AGENT_FIELDS: ReadonlySet<string> = new Set([
  'name',
  'model',
  'model_name',
  'provider',
  'data',
  'prompt_template',
  'params',
  'timeout',
  'mode',
  'max_steps',
  'return_context',
])

/**
 * Creates an agent from the API's fields. Its model and data are not checked, because they may be
 * added later.
 * @throws AppError `project_not_found`, `agent_exists`, `missing_field`, `invalid_name`,
 * `invalid_agent`, `unknown_provider`, `address_refused`
 */
export async function createAgent(
  projectName: string,
  sent: Fields,
  deps: CatalogDeps,
): Promise<Agent> {
  const project = requireProject(deps.catalog.snapshot(), projectName)
  const read = checkedFields(sent)
  const name = read.text('name')
  if (name === undefined) throw new AppError('missing_field', 'Missing "name" field for agent')
  checkedName('agent', name)
  if (findIn(deps.catalog.snapshot().agents, project, name) !== undefined) {
    const detail = `Agent with name ${name} already exists. Please choose a different one.`
    throw new AppError('agent_exists', detail)
  }
  const changes = authored(changesOf(read, null, deps), null, deps.author)
  await checkAddresses(changes, deps)
  const agent = await deps.catalog.createAgent({
    name,
    projectId: project.id,
    model: changes.model ?? null,
    data: changes.data ?? null,
    promptTemplate: changes.promptTemplate ?? null,
    params: changes.params ?? {},
  })
  deps.agentHasModel?.(agent.model)
  return agent
}

/** Stores nothing. @throws AppError like `createAgent` */
export async function modelToTry(sent: Fields, deps: CatalogDeps): Promise<ModelRef | null> {
  const changes = changesOf(checkedFields(sent), null, deps)
  await checkAddresses(changes, deps)
  return changes.model ?? null
}

/**
 * Changes only the fields that were sent. `""` and `{}` clear a field; null clears a limit in
 * `params`.
 * @param check gets the stored agent just before the change, and prevents the change by throwing
 * @throws AppError `agent_exists`, `invalid_agent`
 */
export async function alterAgent(
  agent: Agent,
  sent: Fields,
  deps: CatalogDeps,
  check?: (stored: Agent) => void,
): Promise<Agent> {
  refusePart(agent.data)
  const read = checkedFields(sent)
  const name = read.text('name')
  if (name !== undefined) checkedName('agent', name)
  const changes = authored(changesOf(read, agent, deps), agent, deps.author)
  await checkAddresses(changes, deps)
  return deps.catalog.alterAgent(agent, { ...changes, ...definedFields({ name }) }, check)
}

/** Stores nothing. @throws AppError `invalid_agent` */
export function overriddenAgent(agent: Agent, sent: Fields, deps: CatalogDeps): Agent {
  const read = checkedFields(sent)
  if (read.text('name') !== undefined) {
    throw invalidAgent('The name of an agent cannot be changed for a question')
  }
  if (deps.author !== undefined && Object.keys(sent).length > 0) {
    requireScope(deps.author, 'write')
    return { ...agent, ...authored(changesOf(read, agent, deps), agent, deps.author) }
  }
  return { ...agent, ...changesOf(read, agent, deps) }
}

/**
 * Checks the author's rights. An agent sends everything it reads to its model, so only users who
 * may read all of that data can set its model, prompt or data.
 * @throws AppError `forbidden`
 */
function authored(
  changes: AgentChanges,
  stored: Agent | null,
  author: Principal | undefined,
): AgentChanges {
  const data = changes.data === undefined ? (stored?.data ?? null) : changes.data
  if (author === undefined || data === null) return changes
  refusePart(data)
  const { within: _, ...named } = data
  if ((named.mcp ?? []).length > 0) requireScope(author, 'admin')
  const patterns = [...named.knowledgeBases, ...named.tables]
  if (patterns.length > 0) requireScope(author, 'read')
  const { namespaces } = author
  if (namespaces === null) return changes.data === undefined ? changes : { ...changes, data: named }
  for (const pattern of named.knowledgeBases) {
    if (pattern.includes('.')) requirePattern(author, pattern)
  }
  for (const pattern of named.tables) requirePattern(author, pattern)
  return { ...changes, data: { ...named, within: [...namespaces].toSorted() } }
}

/** An author who cannot see all data could remove or redirect it. @throws AppError `forbidden` */
function refusePart(data: AgentData | null): void {
  if (!data?.isPart) return
  const message = 'This agent reads other projects or databases, which this key or user may not use'
  throw new AppError('forbidden', `${message}: create an agent of your own`)
}

/**
 * Refuses patterns over namespaces, which would match future ones too. @throws AppError `forbidden`
 */
function requirePattern(author: Principal, pattern: string): void {
  const [namespace = ''] = pattern.split('.')
  if (mayName(author, namespace) && !/[*?[\]{}]/.test(namespace)) return
  const message = `${author.name} may not let an agent read "${pattern.slice(0, 100)}"`
  throw new AppError('forbidden', `${message}: name data of your own projects`)
}

function checkedFields(sent: Fields): FieldReader {
  const read = new FieldReader(withNestedParams(sent, INVALID_AGENT), INVALID_AGENT)
  read.allowOnly(AGENT_FIELDS, (name) => {
    return `Problem with agent parameters: Parameter '${name}' is not allowed`
  })
  return read
}

function changesOf(read: FieldReader, stored: Agent | null, deps: CatalogDeps): AgentChanges {
  const model = modelFieldsOf(read)
  const data = read.object('data')
  const promptTemplate = read.text('prompt_template')
  const params = paramsOf(read, stored?.params)
  return definedFields({
    model: model && chosenModel(model, stored?.model ?? null, deps),
    data: data && dataOf(data, stored?.data ?? null),
    promptTemplate: promptTemplate === '' ? null : promptTemplate,
    params,
  })
}

/** Reads `model: {…}`, or the older flat fields `model_name` and `provider`. */
function modelFieldsOf(read: FieldReader): Fields | undefined {
  const model = read.object('model')
  const flat = { model_name: read.text('model_name'), provider: read.text('provider') }
  if (model !== undefined) {
    for (const [name, value] of Object.entries(flat)) {
      if (value === undefined || value === model[name]) continue
      throw invalidAgent(`Field "${name}" belongs in "model"; leave it out beside that`)
    }
    return model
  }
  return flat.model_name === undefined && flat.provider === undefined ? undefined : flat
}

function chosenModel(fields: Fields, stored: ModelRef | null, deps: CatalogDeps): ModelRef | null {
  if (Object.values(fields).every((value) => value === null || value === undefined)) return null
  const ref = modelRefOf(fields, { provider: guessedProvider(fields), code: INVALID_AGENT }, stored)
  if (!deps.chatProviders.includes(ref.provider)) {
    throw unknownProvider('model', ref.provider, deps.chatProviders)
  }
  refuseOptions(fields, agentModelOptionsOf(ref.provider), INVALID_AGENT)
  if (ref.provider === BUILTIN_PROVIDER) return builtinModel(ref, fields)
  if (ref.modelName !== '') return ref
  throw invalidAgent(`"model_name" is required for provider ${ref.provider}`)
}

/** Fails if the user named a different model, so the built-in one never replaces it silently. */
function builtinModel(ref: ModelRef, fields: Fields): ModelRef {
  const { modelName } = ref
  if (modelName === '' || modelName === BUILTIN_CHAT_MODEL) {
    if (ref.baseUrl === undefined) return { ...ref, modelName: BUILTIN_CHAT_MODEL }
    throw invalidAgent('The builtin provider has no "base_url": name another "provider"')
  }
  const how = fields.provider
    ? `the builtin provider has ${BUILTIN_CHAT_MODEL} only`
    : 'say its "provider" (openai, anthropic, ollama, …), or its "base_url"'
  throw invalidAgent(`Unknown model ${modelName.slice(0, 100)}: ${how}`)
}

/** Providers by model name, because some clients send only the name. */
const VENDORS: readonly (readonly [RegExp, string])[] = [
  [/^claude/i, 'anthropic'],
  [/^(gpt-|o\d|chatgpt)/i, 'openai'],
  [/^gemini-/i, 'gemini'],
]

/** A model with an address is taken for a server with OpenAI's API. */
function guessedProvider({ model_name: modelName, base_url: baseUrl }: Fields): string {
  const vendor = VENDORS.find(([names]) => typeof modelName === 'string' && names.test(modelName))
  if (baseUrl) return 'openai'
  return vendor?.[1] ?? BUILTIN_PROVIDER
}

function dataOf(fields: Fields, stored: AgentData | null): AgentData | null {
  if (Object.keys(fields).length === 0) return null
  const read = new FieldReader(fields, INVALID_AGENT)
  read.allowOnly(new Set(['knowledge_bases', 'tables', 'mcp']), (name) => {
    return `Unknown field "${name}" in "data"; expected "knowledge_bases", "tables" and "mcp"`
  })
  const mcp = mcpServersOf(read.list('mcp') ?? [], stored?.mcp ?? [])
  const names = (field: string, parts: PatternParts) => {
    return (read.textList(field) ?? []).map((name) => checkedPattern(name, parts))
  }
  return {
    knowledgeBases: names('knowledge_bases', { min: 1, max: 2, shown: '<project>.<name>' }),
    tables: names('tables', {
      min: 2,
      max: 3,
      shown: '<database>.<table> or <database>.<schema>.<table>',
    }),
    ...(mcp.length === 0 ? {} : { mcp }),
  }
}

/** Returns an agent's data as the API shows it, without secrets. */
export function agentDataFields({ knowledgeBases, tables, mcp = [] }: AgentData): Fields {
  const servers = mcp.length === 0 ? {} : { mcp: mcp.map(shownMcpServer) }
  return { knowledge_bases: knowledgeBases, tables, ...servers }
}

/** @throws AppError `address_refused` */
export async function checkAddresses(
  { model, data }: Pick<AgentChanges, 'model' | 'data'>,
  deps: CatalogDeps,
): Promise<void> {
  if (model != null) await deps.checkAddress(model)
  const servers = data?.mcp ?? []
  await Promise.all(servers.map(({ url }) => deps.checkServerAddress(new URL(url))))
}

const PATTERN_CHARS_MAX = 300

interface PatternParts {
  readonly min: number
  readonly max: number
  readonly shown: string
}

/** `project.name`, `source.table`, `source.schema.table`, quoted or not. */
function checkedPattern(name: string, { min, max, shown }: PatternParts): string {
  const parts = name.split('.').map((part) => part.trim().replace(/^([`"])(.*)\1$/, '$2'))
  const isWellMade = parts.length >= min && parts.length <= max && parts.every(Boolean)
  if (isWellMade && name.length <= PATTERN_CHARS_MAX) return parts.join('.')
  const expected = `expected "${shown}", where * and ? are wildcards`
  throw invalidAgent(`"${name.slice(0, 60)}" is not a name in "data": ${expected}`)
}

/** null resets a limit to the server's default. Undefined if nothing changes. */
function paramsOf(read: FieldReader, stored: AgentParams = {}): AgentParams | undefined {
  const mode = read.text('mode')
  if (mode !== undefined && mode !== 'text' && mode !== 'sql') {
    throw invalidAgent(`Field "mode" must be "text" or "sql"; it is "${mode}"`)
  }
  const sent: AgentParams = definedFields({
    timeoutSeconds: read.integer('timeout', { min: 1, max: 86_400 }),
    maxSteps: read.integer('max_steps', { min: 1, max: 100 }),
    mode,
    returnContext: read.truth('return_context'),
  })
  const hasTimeout = !read.isNull('timeout')
  const hasMaxSteps = !read.isNull('max_steps')
  if (Object.keys(sent).length === 0 && hasTimeout && hasMaxSteps) return
  const { timeoutSeconds, maxSteps, ...kept } = stored
  return {
    ...kept,
    ...definedFields({
      timeoutSeconds: hasTimeout ? timeoutSeconds : undefined,
      maxSteps: hasMaxSteps ? maxSteps : undefined,
    }),
    ...sent,
  }
}

/** Returns the parameters that are set, under the API's names. */
export function agentParamFields(params: AgentParams) {
  return definedFields({
    timeout: params.timeoutSeconds,
    max_steps: params.maxSteps,
    mode: params.mode,
    return_context: params.returnContext,
  })
}
