/** Asking an agent, in a conversation that is kept. */
import type { AgentName } from '../../api/agents.ts'
import { knownOf } from '../../components/known-name.ts'
import { AgentFrame } from './agent-frame.tsx'
import { ConversationList } from './asking/conversation-list.tsx'
import { ConversationPane } from './asking/conversation-pane.tsx'
import { useConversationList } from './asking/use-conversation-list.ts'

interface AgentViewProps extends AgentName {
  readonly conversation?: string
}

export function AgentView({ project, name, conversation }: AgentViewProps) {
  const agent = { project, name }
  const data = knownOf('agents', agent)?.data
  const conversations = useConversationList(agent)
  const listed = conversations.data?.items.find((one) => one.conversation_id === conversation)
  return (
    <AgentFrame project={project} name={name}>
      <div class="agents-ask">
        <ConversationList agent={agent} open={conversation} conversations={conversations} />
        <ConversationPane
          agent={agent}
          id={conversation ?? 'new'}
          listed={listed}
          hasData={data === undefined || Object.values(data).some((names) => names.length > 0)}
        />
      </div>
    </AgentFrame>
  )
}
