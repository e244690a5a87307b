import { agentWarnings } from '../agents/questions/agent-check.ts'
import { AgentPool } from '../agents/questions/agent-pool.ts'
import { Conversations } from '../agents/questions/conversations.ts'
import { LiveTurns } from '../agents/questions/live-turns.ts'
import type { UseCases } from '../api/http/request/route-context.ts'
import type { LoggedError } from '../api/http/request/running-requests.ts'
import type { Rights } from '../core/domain/access/rights.ts'
import { BUILTIN_CHAT_MODEL, BUILTIN_PROVIDER } from '../core/domain/model-ref.ts'
import type { ForeignTools } from '../core/domain/ports/foreign-tool-ports.ts'
import type { AgentAnswers } from '../core/domain/ports/model-ports.ts'
import type { RunningWork } from '../core/domain/ports/running-ports.ts'
import type { RunTraces } from '../core/domain/ports/trace-ports.ts'
import { setStatement } from '../core/runtime/cancellation.ts'
import { costOf } from '../ops/telemetry/model-prices.ts'
import type { QueryDeps } from '../query/select/query-deps.ts'
import type { Store } from '../store/store.ts'
import { askerOfSignal } from './access-parts.ts'
import { LATER } from './later.ts'
import { builtinEmbed, chatDefaultsOf, defaultChatModel } from './model-parts.ts'
import type { Settings } from './settings/settings.ts'

/** Threads that wait for questions: some 10 MB each. */
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
          // Its first rows are read by then.
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
      judgeAnswerability: async (question, passages) => {
        return (await LATER.answerability()).answerabilityOf(question, passages)
      },
      collect: () => Bun.gc(true),
      // They grow with time: the database finds one without looking at all the others.
      newTraceId: () => Bun.randomUUIDv7(),
    },
  )
}

/** Agents as clients ask them, over conversations that are kept. `settled`: those that were ended are kept, too. */
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

/** Agents as statements ask them. */
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
