/** The turns of a stored conversation, newest first, with details from their traces. */
import { useMemo, useState } from 'preact/hooks'
import { FAILURE_TYPES } from '../../../../core/domain/agents/completion-event.ts'
import { type AgentName, listTraces, readConversation } from '../../../api/agents.ts'
import type { Conversation, TraceList } from '../../../api/records.ts'
import { timeOf } from '../../../components/numbers.ts'
import { useResource } from '../../../components/resource.ts'
import type { AskedTurn, Found } from './asked-turn.ts'
import { changes } from './running-turns.ts'

export type KeptTurn = Conversation['turns'][number]
export type TraceSummary = TraceList['items'][number]

export interface KeptTurns {
  /** The turns read so far, in order. */
  readonly turns: readonly KeptTurn[]
  /** The newest page, as last read. */
  readonly newest: Conversation | undefined
  readonly failure: Error | undefined
  readonly isLoading: boolean
  readonly reload: () => void
  /** Reads earlier turns; missing if there are none. */
  readonly readEarlier?: () => Promise<void>
}

type Former = Pick<Conversation, 'turns' | 'next'>

/**
 * The turns read before the newest page; undefined if other turns may be missing in between.
 * @param newest the newest page as last read; since then, turns may have been added, or deleted
 * from one turn on
 */
export function turnsBefore(
  newest: readonly KeptTurn[],
  former: readonly KeptTurn[],
): readonly KeptTurn[] | undefined {
  const at = former.findIndex((turn) => turn.trace_id === newest[0]?.trace_id)
  return at === -1 ? undefined : former.slice(0, at)
}

/** @param id undefined if there is nothing to read */
export function useKeptTurns(agent: AgentName, id: string | undefined): KeptTurns {
  const key = JSON.stringify([agent.project, agent.name, id])
  const [former, setFormer] = useState<Former>()
  const newest = useResource(
    async (signal) => (id === undefined ? undefined : readConversation(agent, id, { signal })),
    [key],
  )
  const { turns, next } = useMemo(() => {
    const latest = newest.data?.turns ?? []
    const earlier = former && turnsBefore(latest, former.turns)
    const oldest = earlier === undefined ? newest.data : former
    return { turns: [...(earlier ?? []), ...latest], next: oldest?.next }
  }, [former, newest.data])
  const readEarlier = async () => {
    if (id === undefined || !next) return
    const page = await readConversation(agent, id, { cursor: next })
    setFormer({ turns: [...page.turns, ...turns], next: page.next })
  }
  return {
    turns,
    newest: newest.data,
    failure: newest.failure,
    isLoading: newest.isLoading && newest.data === undefined && id !== undefined,
    reload: newest.reload,
    ...(next ? { readEarlier } : {}),
  }
}

const NO_SUMMARIES: ReadonlyMap<string, TraceSummary> = new Map()

/** Times, tokens and feedback for the turns of a conversation, by trace id. */
export function useSummaries(id: string): ReadonlyMap<string, TraceSummary> {
  const found = useResource(
    async (signal) => {
      if (id === 'new') return NO_SUMMARIES
      const { items } = await listTraces({ conversation_id: id, limit: '1000' }, signal)
      return new Map(items.map((one) => [one.trace_id, one]))
    },
    [id],
    [changes.value],
  )
  return found.data ?? NO_SUMMARIES
}

const STATES = { answered: 'answered', failed: 'failed', cancelled: 'stopped' } as const

export function watchedTurn(turn: KeptTurn): AskedTurn {
  const { question, answer, outcome, error_code: code, trace_id: traceId } = turn
  // Like JSON, the schema allows any content in a cell.
  const found = turn as Found
  const failed = {
    words: code === null ? '' : `The question failed with ${code}.`,
    kind: kindOf(code),
  }
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
