/** Asks an agent in a stored conversation. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { isOver } from '../../../core/domain/flow/job.ts'
import { type AgentName, deleteConversation, listConversations } from '../../api/agents.ts'
import { listJobs } from '../../api/jobs.ts'
import { Button, Icon } from '../../components/button.tsx'
import { ConfirmButton } from '../../components/dialog.tsx'
import { Failure, Progress } from '../../components/failure.tsx'
import { wordsOf } from '../../components/job-progress.tsx'
import { knownOf } from '../../components/known-name.ts'
import { shownAge } from '../../components/numbers.ts'
import { useLongList, usePolling, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { SendingState } from '../../uploads/sending-progress.tsx'
import { jobsToCome, lastUploadJob, sendings } from '../../uploads/uploads.ts'
import { AgentFrame } from './agent-frame.tsx'
import { ConversationPane } from './asking/conversation-pane.tsx'
import { changes, forgetTurns, placeOf, stopped } from './asking/running-turns.ts'

export function AgentView(props: AgentName & { readonly conversation?: string }) {
  const { project, name, conversation } = props
  const agent = { project, name }
  const data = knownOf('agents', agent)?.data
  const reading = useReading(data?.knowledge_bases ?? [])
  const conversations = useConversationList(agent)
  const listed = conversations.data?.items.find((one) => one.conversation_id === conversation)
  return (
    <AgentFrame project={project} name={name}>
      <div class="with-side">
        <ConversationList agent={agent} open={conversation} conversations={conversations} />
        <div class="stack">
          <ReadingNow {...reading} />
          <ConversationPane
            agent={agent}
            id={conversation ?? 'new'}
            listed={listed}
            isReading={reading.isReading}
            hasData={data === undefined || Object.values(data).some((names) => names.length > 0)}
          />
        </div>
      </div>
    </AgentFrame>
  )
}

const JOBS_MAX = 20

/** Files that are being sent or read into the agent's knowledge bases. */
function useReading(knowledgeBases: readonly string[]) {
  const isRead = (project: string, name: string | null) => {
    return knowledgeBases.includes(`${project}.${name}`) || knowledgeBases.includes(`${project}.*`)
  }
  const newest = lastUploadJob.value
  const last = useResource((signal) => listJobs({ limit: JOBS_MAX }, signal), [], [newest?.id])
  const listed = last.data?.items ?? []
  const isListed = newest === undefined || listed.some(({ id }) => id >= newest.id)
  const jobs = [...(isListed ? [] : [newest]), ...listed].filter((job) => {
    return !isOver(job) && isRead(job.project, job.knowledge_base)
  })
  const sending = sendings().filter(({ project, knowledgeBase }) => isRead(project, knowledgeBase))
  const isGoing = sending.some(({ files }) => files > 0) || jobsToCome.value > 0
  const isReading = isGoing || jobs.length > 0
  // A question may be waiting for the files.
  usePolling(last.reload, isReading ? 'soon' : 'often')
  return { sending, jobs, isReading }
}

function ReadingNow({ sending, jobs }: ReturnType<typeof useReading>) {
  if (sending.length + jobs.length === 0) return null
  return (
    <section class="panel stack" aria-label="Being read">
      {sending.map((one) => (
        <SendingState key={one.knowledgeBase} of={one} />
      ))}
      {jobs.map((job) => (
        <Progress key={job.id} label={wordsOf(job)} done={job.rows} total={job.total} />
      ))}
    </section>
  )
}

interface ConversationListProps {
  readonly agent: AgentName
  readonly open: string | undefined
  readonly conversations: Conversations
}

/** An agent's stored conversations, sorted by the latest question. */
function ConversationList({ agent, open, conversations: found }: ConversationListProps) {
  const { route } = useLocation()
  const { project, name } = agent
  const [isUnfolded, setIsUnfolded] = useState(false)
  const remove = async (id: string) => {
    // Stopped first; otherwise a running question would store the conversation again with its
    // answer.
    await stopped(placeOf(agent, id))
    await deleteConversation(agent, id)
    forgetTurns(placeOf(agent, id))
    if (id === open) route(addressOf.agent(project, name))
    found.reload()
  }
  return (
    <nav class="list side agents-conversations" aria-label="Conversations">
      <a class="button" href={addressOf.agent(project, name)}>
        <Icon name="plus" /> New conversation
      </a>
      <Button
        look="agents-unfold"
        icon="down"
        label="Conversations"
        aria-expanded={isUnfolded}
        onClick={() => setIsUnfolded(!isUnfolded)}
      />
      <div class={`agents-list ${isUnfolded ? 'unfolded' : ''}`}>
        {found.failure && <Failure error={found.failure} onRetry={found.reload} />}
        {found.data?.items.length === 0 && (
          <p class="small quiet">Your conversations appear here.</p>
        )}
        <ul>
          {(found.data?.items ?? []).map(({ conversation_id: id, title, ended_at, is_running }) => (
            <li key={id}>
              <a
                class="entry"
                href={addressOf.conversation(project, name, id)}
                aria-current={id === open ? 'page' : undefined}
              >
                <span class="one-line">{title}</span>
                <span class="small quiet">
                  {is_running ? 'answering …' : shownAge(ended_at, Date.now())}
                </span>
              </a>
              <ConfirmButton
                look="quiet icon-only"
                icon="trash"
                aria-label={`Delete the conversation “${title}”`}
                asks="Delete this conversation?"
                verb="Delete"
                onConfirm={() => remove(id)}
              >
                Its questions and answers are deleted permanently. Their traces are kept.
              </ConfirmButton>
            </li>
          ))}
        </ul>
        {found.showMore && <Button look="small" label="Show more" onClick={found.showMore} />}
      </div>
    </nav>
  )
}

type Conversations = ReturnType<typeof useConversationList>

/** When one changes here, and every few seconds for other windows. */
function useConversationList(agent: AgentName) {
  const found = useLongList(
    (limit, signal) => listConversations(agent, limit, signal),
    [agent.project, agent.name],
    [changes.value],
  )
  usePolling(found.reload, 'often')
  return found
}
