import { agentWarnings } from '../agents/questions/agent-check.ts'
import { AgentPool } from '../agents/questions/agent-pool.ts'
import { Conversations } from '../agents/questions/conversations.ts'
import { LiveTurns } from '../agents/questions/live-turns.ts'
import type { McpServers } from '../agents/tools/mcp-servers.ts'
import type { ServerDeps, UseCases } from '../api/http/request/route-context.ts'
import type { LoggedError } from '../api/http/request/running-requests.ts'
import type { McpUses } from '../api/mcp/tool.ts'
import type { Rights } from '../core/domain/access/principal.ts'
import {
  BUILTIN_CHAT_MODEL,
  BUILTIN_EMBEDDING_MODEL,
  BUILTIN_PROVIDER,
  type ChatDefaults,
  type ModelRef,
  type NetworkRules,
} from '../core/domain/model-ref.ts'
import type { RunTraces } from '../core/domain/ports/conversation-ports.ts'
import type { StoredDocuments } from '../core/domain/ports/document-ports.ts'
import type { RunningWork } from '../core/domain/ports/engine-ports.ts'
import type { ForeignTools, McpDoor } from '../core/domain/ports/foreign-tool-ports.ts'
import type {
  AgentAnswers,
  ChatModels,
  Embedder,
  EmbedderRegistry,
} from '../core/domain/ports/model-ports.ts'
import { toAppError } from '../core/errors.ts'
import type { Guard } from '../core/runtime/address-policy.ts'
import { setStatement } from '../core/runtime/cancellation.ts'
import type { OcrModel } from '../ingest/readers/scans.ts'
import { modelEndpoint } from '../models/endpoint.ts'
import { FeatureMemories } from '../models/registries/feature-memories.ts'
import { costOf } from '../ops/telemetry/run-recorder.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import type { Store } from '../store/store.ts'
import { askerOfSignal, requestOf } from './access-parts.ts'
import { LATER } from './later.ts'
import { isLoopback, type Settings } from './settings/settings.ts'

/** How many idle threads wait for questions, at about 10 MB each. */
const SPARE_AGENTS = 2

export function agentPool(
  settings: Settings,
  queryDeps: (rights: Rights | null) => QueryDeps,
  running: RunningWork,
  { traces, foreignTools }: { readonly traces: RunTraces; readonly foreignTools: ForeignTools },
): AgentPool {
  const all = queryDeps(null)
  return new AgentPool(
    {
      agentsMax: settings.agentsMax,
      agentQuestionsMax: settings.agentQuestionsMax,
      agentQueueMax: settings.agentQueueMax,
      agentTimeoutSeconds: settings.agentTimeoutSeconds,
      agentStepsMax: settings.agentStepsMax,
      agentContextTokens: settings.agentContextTokens,
      observationBytesMax: settings.observationBytesMax,
      defaultModel: defaultChatModel(settings),
      chatDefaults: chatDefaultsOf(settings),
      sparesMax: SPARE_AGENTS,
      workerUrl: new URL('./threads/agent-entry.ts', import.meta.url).href,
    },
    {
      catalog: all.catalog,
      select: async (sql, { project, allowed, within = null }, signal) => {
        running.refuseSuspect(sql)
        const entry = running.begin('an agent')
        entry.statement(sql)
        setStatement(signal, sql)
        try {
          const { runSelect } = await LATER.select()
          const request = { sql, database: project, params: {}, allowed, isShown: true }
          // By now, the first rows have been read.
          const rights = within && { read: true, ask: false, namespaces: within }
          return await runSelect(request, queryDeps(rights), signal)
        } finally {
          entry.end()
        }
      },
      sources: all.sources,
      embed: builtinEmbed(all.embedders),
      chatProviders: all.chatProviders,
      ...(all.chatModels.features && { features: all.chatModels.features }),
      foreignTools,
      traces,
      judgeAnswerability: all.judgeAnswerability,
      collect: () => Bun.gc(true),
      // The ids grow with time, so that the database finds one without searching all others.
      newTraceId: () => Bun.randomUUIDv7(),
    },
  )
}

/** Agents with stored conversations. Those of finished questions stay in `settled`. */
export function askedAgents(
  pool: AgentPool,
  { conversations: store }: Pick<Store, 'conversations'>,
  { conversationTurnsMax: turnsMax }: Settings,
  log: { readonly failure: (error: LoggedError) => void },
): Pick<UseCases, 'agents' | 'conversations'> & { readonly settled: () => Promise<void> } {
  const live = new LiveTurns(store)
  const kept = new Conversations({
    ...{ pool, store, live, turnsMax },
    newId: () => Bun.randomUUIDv7(),
    now: Date.now,
    onFailure: (error) => log.failure({ requestId: 'conversations', error }),
  })
  return {
    agents: {
      ask: (question, signal) => kept.ask(question, signal),
      complete: (question, signal) => kept.complete(question, signal),
      runs: () => pool.runs(),
      cancelRun: (traceId) => pool.cancelRun(traceId),
    },
    conversations: {
      list: (agent, page, asker) => live.list(agent, page, asker),
      get: (agent, id, page, asker) => live.get(agent, id, page, asker),
      watch: (agent, id, asker, signal) => live.watch(agent, id, asker, signal),
      remove: (agent, id, asker) => kept.remove(agent, id, asker),
      removeFrom: (agent, id, traceId, asker) => kept.removeFrom(agent, id, traceId, asker),
    },
    settled: () => kept.settled(),
  }
}

const BUILTIN_CHAT = { provider: BUILTIN_PROVIDER, modelName: BUILTIN_CHAT_MODEL }

export function agentAnswers(
  pool: () => AgentPool,
  settings: Settings,
  queryDeps: () => QueryDeps,
): AgentAnswers {
  return {
    warningsOf(agent) {
      const { catalog, chatModels } = queryDeps()
      return agentWarnings(agent, catalog.snapshot(), chatModels)
    },
    async ask(agent, question, signal, purpose = 'question') {
      const askedBy = askerOfSignal(signal).by
      const asked = { agent, question, history: [], deltas: false, purpose, askedBy }
      const answer = await pool().complete(asked, signal)
      const model = agent.model ?? defaultChatModel(settings) ?? BUILTIN_CHAT
      const cost = costOf(model, [answer], settings.modelPrices)
      return { ...answer, cost }
    },
  }
}

/** The tools of MCP servers. The MCP client is loaded when an agent first uses one. */
export function foreignToolsOf(guard: Guard, nowMs: () => number): ForeignTools {
  let servers: Promise<McpServers> | undefined
  const loaded = () => {
    servers ??= import('../agents/tools/mcp-servers.ts').then(
      (module) => new module.McpServers(guard, nowMs),
    )
    return servers
  }
  return {
    list: async (server, signal) => (await loaded()).list(server, signal),
    call: async (call, signal) => (await loaded()).call(call, signal),
    end: (session) => void servers?.then((known) => known.end(session)),
  }
}

type Served = Pick<
  ServerDeps,
  'catalogFor' | 'search' | 'documents' | 'query' | 'agents' | 'insert' | 'logError'
>

/** The endpoint for MCP clients. Its code is loaded with the first request. */
export function mcpDoorOf(
  served: Served,
  given: {
    readonly documents: Pick<StoredDocuments, 'count' | 'chunkCount'>
    readonly running: RunningWork
    readonly version: string
  },
): McpDoor {
  const { documents, running, version } = given
  const uses: McpUses = {
    ...served,
    version,
    async sizeOf(kb) {
      const [count, chunks] = await Promise.all([documents.count(kb), documents.chunkCount(kb)])
      return { documents: count, chunks }
    },
    async query(order, principal, signal) {
      running.refuseSuspect(order.sql)
      const entry = running.begin('a tool of MCP')
      entry.statement(order.sql)
      setStatement(signal, order.sql)
      try {
        return await served.query(order, principal, signal)
      } finally {
        entry.end()
      }
    },
    logError: (error, signal) => {
      served.logError({ requestId: requestOf(signal)?.id ?? 'mcp', error })
    },
  }
  let loaded: Promise<McpDoor> | undefined
  const door = () => {
    loaded ??= import('../api/mcp/mcp-requests.ts').then((module) => new module.McpRequests(uses))
    return loaded
  }
  return { handle: async (request, body, caller) => (await door()).handle(request, body, caller) }
}

/** null if agents and the server use the built-in model. */
function defaultChatModel({ chatProvider, chatModel }: Settings): ModelRef | null {
  if (chatProvider === BUILTIN_PROVIDER) return null
  return { provider: chatProvider, modelName: chatModel ?? '', options: {} }
}

export function chatModelsOf(settings: Settings, embedders: EmbedderRegistry): ChatModels {
  const memories = new FeatureMemories(() => performance.now())
  return {
    defaultModel: defaultChatModel(settings),
    features: memories,
    problemOf(ref) {
      if (ref.provider === BUILTIN_PROVIDER) return null
      try {
        modelEndpoint(ref, { chat: chatDefaultsOf(settings), code: 'invalid_agent' })
        return null
      } catch (error) {
        return toAppError(error).message
      }
    },
    async chatModel(ref, withinMs) {
      const { chatModelOf } = await import('../models/registries/chat-registry.ts')
      const embed = builtinEmbed(embedders)
      const features = memories.of(ref)
      const within = withinMs === undefined ? {} : { withinMs }
      return chatModelOf(ref, chatDefaultsOf(settings), { embed, features, ...within })
    },
  }
}

function builtinEmbed(embedders: EmbedderRegistry): Embedder['embed'] {
  const ref = { provider: BUILTIN_PROVIDER, modelName: BUILTIN_EMBEDDING_MODEL, options: {} }
  return (texts, signal) => embedders.embedder(ref).embed(texts, signal)
}

export function chatDefaultsOf(settings: Settings): ChatDefaults {
  const { openaiApiKey, openaiBaseUrl, anthropicApiKey, anthropicBaseUrl } = settings
  const network = networkRulesOf(settings)
  const { chatProvider: operatorProvider } = settings
  const { chatBaseUrl: operatorBaseUrl, chatApiKey: operatorApiKey } = settings
  const operators = { operatorProvider, operatorBaseUrl, operatorApiKey }
  const serviceKeys = serviceKeysOf(settings)
  const own = { openaiApiKey, openaiBaseUrl, anthropicApiKey, anthropicBaseUrl }
  return { ...own, ...operators, serviceKeys, network }
}

export function ocrModelOf(settings: Settings, models: ChatModels): OcrModel | undefined {
  const { ocrProvider: provider, ocrModel: modelName, ocrBaseUrl, ocrApiKey } = settings
  if (modelName === undefined) return undefined
  const ref: ModelRef = {
    ...{ provider, modelName, options: {} },
    ...(ocrBaseUrl === undefined ? {} : { baseUrl: ocrBaseUrl }),
    ...(ocrApiKey === undefined ? {} : { apiKey: ocrApiKey }),
  }
  return {
    name: modelName,
    model: () => models.chatModel(ref),
    costOf: (usages) => {
      const turns = usages.map((usage) => ({ usage }))
      return costOf(ref, turns, settings.modelPrices)
    },
  }
}

export function serviceKeysOf(settings: Settings) {
  return {
    gemini: settings.geminiApiKey,
    mistral: settings.mistralApiKey,
    groq: settings.groqApiKey,
    deepseek: settings.deepseekApiKey,
    openrouter: settings.openrouterApiKey,
    together: settings.togetherApiKey,
  }
}

/** If only this machine reaches a server without a login, models and sources may use any address. */
export function networkRulesOf({ networkAllow, host, username }: Settings): NetworkRules {
  const isOpen = isLoopback(host) && username === undefined
  return { setting: 'EIDER_NETWORK_ALLOW', entries: networkAllow, isOpen }
}
