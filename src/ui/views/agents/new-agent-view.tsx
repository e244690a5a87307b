/** A new agent: a name and what it may read are enough. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects, refreshCatalog } from '../../api/catalog.ts'
import type { SavedAgent } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { SelectField } from '../../components/form/field.tsx'
import { Form } from '../../components/form/form.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import { definitionOf, draftOf, forgetDraft, keepDraft, keptDraft } from './agent-draft.ts'
import { AgentForm } from './agent-form.tsx'

/** No agent has this name. */
const PLACE = '/new'

export function NewAgentView() {
  const { route, query } = useLocation()
  const [chosen, setProject] = useState(query.project)
  // Some may use other projects alone, which are known a moment after the page.
  const project = chosen ?? projects.value?.[0]?.name ?? 'mindsdb'
  const [draft, setDraft] = useState(() => keptDraft(PLACE)?.draft ?? draftOf())
  const create = async () => {
    const json = { agent: definitionOf(draft) }
    const address = path`/api/projects/${project}/agents`
    const { name, warnings } = await request<SavedAgent>(address, { method: 'POST', json })
    forgetDraft(PLACE)
    for (const warning of warnings) tellFailed(new Error(warning))
    await refreshCatalog()
    route(addressOf.agent(project, name))
  }
  return (
    <>
      <PageHeader
        title="New agent"
        above={[{ label: 'Home', href: '/' }]}
        lead="It answers questions from the data that you choose. Without a model of your own, it quotes what it finds."
      />
      <Form class="stack agent-form" verb="Create the agent" onSend={create}>
        <SelectField
          label="Project"
          value={project}
          onChoose={setProject}
          options={[...new Set([project, ...(projects.value ?? []).map(({ name }) => name)])]}
        />
        <AgentForm
          draft={draft}
          onChange={(next) => {
            setDraft(next)
            keepDraft(PLACE, { draft: next })
          }}
        />
      </Form>
    </>
  )
}
