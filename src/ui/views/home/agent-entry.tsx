/** An agent by its name, with what it reads. */
import type { Agent } from '../../api/records.ts'
import { Icon } from '../../components/icon.tsx'
import { addressOf } from '../../shell/addresses.ts'

/** Of more the first are named. */
const NAMED_MAX = 3

interface AgentEntryProps {
  readonly project: string
  readonly agent: Agent
}

export function AgentEntry({ project, agent: { name, data } }: AgentEntryProps) {
  return (
    <li>
      <Icon name="agent" />
      <a class="one-line" dir="auto" href={addressOf.agent(project, name)}>
        {name}
      </a>
      <span class="home-about small quiet one-line" dir="auto">
        {readsOf([...(data?.knowledge_bases ?? []), ...(data?.tables ?? [])], project)}
      </span>
    </li>
  )
}

function readsOf(all: readonly string[], project: string): string {
  if (all.length === 0) return 'reads nothing yet'
  const named = all.slice(0, NAMED_MAX).map((one) => {
    return one.startsWith(`${project}.`) ? one.slice(project.length + 1) : one
  })
  const rest = all.length - named.length
  return `reads ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
