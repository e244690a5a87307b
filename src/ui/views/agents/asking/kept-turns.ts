/** The turns of a kept conversation, the newest first read, and what their traces say of them. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { FAILURE_TYPES } from '../../../../domain/agents/completion-event.ts'
import { type AgentName, listTraces, readConversation } from '../../../api/agents.ts'
import type { Conversation, TraceList } from '../../../api/records.ts'
import { useResource } from '../../../components/resource.ts'
import { timeOf } from '../../../format/numbers.ts'
import type { AskedTurn, Found } from './asked-turn.ts'
import { changes } from './running-turns.ts'

export type KeptTurn = Conversation['turns'][number]
export type TraceSummary = TraceList['items'][number]

export interface KeptTurns {
  /** In their order, as far as they were read. */
  readonly turns: readonly KeptTurn[]
  /** The newest page, as it was read last. */
  readonly newest: Conversation | undefined
  readonly failure: Error | undefined
  readonly isLoading: boolean
  readonly reload: () => void
  /** Reads those before; missing: there are none. */
  readonly readEarlier?: () => Promise<void>
}

interface EarlierPages {
  /** The newest page, before which these stand. */
  readonly of: Conversation | undefined
  readonly pages: readonly Conversation[]
}

const NO_PAGES: readonly Conversation[] = []

/** @param id undefined: nothing of it has to be read */
export function useKeptTurns(agent: AgentName, id: string | undefined): KeptTurns {
  const key = JSON.stringify([agent.project, agent.name, id])
  const [before, setBefore] = useState<EarlierPages>()
  const newest = useResource(
    async (signal) => (id === undefined ? undefined : readConversation(agent, id, { signal })),
    [key],
  )
  // Behind a newest page that was read again there may be other turns between.
  const pages = before !== undefined && before.of === newest.data ? before.pages : NO_PAGES
  const oldest = pages[0] ?? newest.data
  const readEarlier = async () => {
    if (id === undefined || !oldest?.next) return
    const page = await readConversation(agent, id, { cursor: oldest.next })
    setBefore({ of: newest.data, pages: [page, ...pages] })
  }
  const turns = useMemo(() => {
    const all = [...pages, ...(newest.data ? [newest.data] : [])].flatMap((page) => page.turns)
    return [...new Map(all.map((turn) => [turn.trace_id, turn])).values()]
  }, [pages, newest.data])
  return {
    turns,
    newest: newest.data,
    failure: newest.failure,
    isLoading: newest.isLoading && newest.data === undefined && id !== undefined,
    reload: () => {
      setBefore(undefined)
      newest.reload()
    },
    ...(oldest?.next ? { readEarlier } : {}),
  }
}

const NO_SUMMARIES: ReadonlyMap<string, TraceSummary> = new Map()

/** Times, tokens and feedback of the turns of a conversation, by the ids of their traces. */
export function useSummaries(id: string): ReadonlyMap<string, TraceSummary> {
  const found = useResource(
    async (signal) => {
      if (id === 'new') return NO_SUMMARIES
      const { items } = await listTraces({ conversation_id: id, limit: '1000' }, signal)
      return new Map(items.map((one) => [one.trace_id, one]))
    },
    [id],
  )
  const version = changes.value
  useEffect(() => {
    if (version > 0) found.reload()
  }, [version])
  return found.data ?? NO_SUMMARIES
}

const STATES = { answered: 'answered', failed: 'failed', cancelled: 'stopped' } as const

/** As one that was watched here. Its steps stand in its trace. */
export function watchedTurn(turn: KeptTurn): AskedTurn {
  const { question, answer, outcome, error_code: code, trace_id: traceId } = turn
  // The schema leaves open what stands in a cell, as JSON does.
  const found = turn as Found
  const failed = { words: code === null ? '' : `It ended with ${code}.`, kind: kindOf(code) }
  return {
    key: 0,
    question,
    traceId,
    text: answer ?? '',
    state: STATES[outcome],
    startedAtMs: timeOf(turn.started_at).getTime(),
    endedAtMs: timeOf(turn.ended_at).getTime(),
    steps: [],
    ...(answer === null ? {} : { found }),
    ...(outcome === 'failed' ? { failure: failed } : {}),
  }
}

function kindOf(code: string | null): string {
  const kinds: Readonly<Record<string, string>> = FAILURE_TYPES
  return kinds[code ?? ''] ?? 'general'
}
