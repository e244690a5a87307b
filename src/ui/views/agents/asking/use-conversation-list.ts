/** The conversations with an agent, read again when one changes here, and every few seconds for what other windows do. */
import { useEffect, useState } from 'preact/hooks'
import { type AgentName, listConversations } from '../../../api/agents.ts'
import type { ConversationList } from '../../../api/records.ts'
import { type Resource, usePolling, useResource } from '../../../components/resource.ts'
import { changes } from './running-turns.ts'

const PAGE = 30
const MORE = 100
const POLL_MS = 5000

export interface Conversations extends Resource<ConversationList> {
  readonly showMore: () => void
}

export function useConversationList(agent: AgentName): Conversations {
  const [limit, setLimit] = useState(PAGE)
  const found = useResource(
    (signal) => listConversations(agent, limit, signal),
    [agent.project, agent.name],
  )
  const version = changes.value
  useEffect(() => {
    if (version > 0 || limit > PAGE) found.reload()
  }, [version, limit])
  usePolling(found.reload, POLL_MS)
  return { ...found, showMore: () => setLimit(limit + MORE) }
}
