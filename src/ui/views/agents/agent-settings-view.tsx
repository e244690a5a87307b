/** Changes, tests or deletes an agent. */
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { DEFAULT_PROJECT } from '../../../core/domain/names.ts'
import { parsedArguments } from '../../../core/json.ts'
import type { AgentName } from '../../api/agents.ts'
import { projects, refreshCatalog } from '../../api/catalog.ts'
import type { Agent, AgentProbe, SavedAgent } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { draftAt, keepDraft } from '../../components/browser-storage.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmButton, TryButton } from '../../components/dialog.tsx'
import { SelectField } from '../../components/form/field.tsx'
import { Form } from '../../components/form/form.tsx'
import { projectChoices } from '../../components/known-name.ts'
import { shownDuration } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Loaded } from '../../components/record-list.tsx'
import { useRequest } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellDone, tellFailed } from '../../shell/notices.tsx'
import {
  type AgentDraft,
  definitionOf,
  draftAfter,
  draftOf,
  isSameDraft,
  keyedProviderOf,
  withoutKey,
} from './agent-draft.ts'
import { AgentForm } from './agent-form.tsx'
import { AgentFrame } from './agent-frame.tsx'

export function AgentSettingsView({ project, name }: AgentName) {
  const at = path`/api/projects/${project}/agents/${name}`
  const agent = useRequest<Agent>(at)
  return (
    <AgentFrame project={project} name={name}>
      <Loaded of={agent} what="the agent">
        {(data) => <Settings key={at} at={at} agent={data} project={project} />}
      </Loaded>
    </AgentFrame>
  )
}

function Settings(props: { readonly at: string; readonly agent: Agent; readonly project: string }) {
  const { at, agent, project } = props
  const { route } = useLocation()
  /** The agent that the input started from; it stays when the agent is read again. */
  const [base, setBase] = useState(agent)
  const [draft, setDraft] = useState(() => draftOf(agent, project))
  /** The latest input, because the user may type while it is saved. */
  const latest = useRef(draft)
  latest.current = draft
  const isChanged = !isSameDraft(draft, draftOf(base, project))
  const save = async () => {
    const now = await request<Agent>(at)
    if (now.updated_at !== base.updated_at) {
      setBase(now)
      throw new Error(
        'Another window or user changed this agent after you opened it. Save again to replace that, or discard your changes to see it',
      )
    }
    const { name: _name, ...changes } = definitionOf(draft, now)
    const saved = await request<SavedAgent>(at, { method: 'PUT', json: { agent: changes } })
    const known = withoutKey(saved)
    setBase(known)
    setDraft(draftAfter(draftOf(known, project), draft, latest.current))
    tellDone('Saved')
    for (const warning of saved.warnings) tellFailed(new Error(warning))
    void refreshCatalog().catch(() => {})
  }
  const remove = async () => {
    await request(at, { method: 'DELETE' })
    // Before the list is reloaded; otherwise this view would report a missing agent.
    route('/')
    await refreshCatalog().catch(() => {})
  }
  return (
    <Form
      class="stack add-form"
      verb="Save"
      onSend={save}
      beside={
        <>
          {isChanged && (
            <Button label="Discard changes" onClick={() => setDraft(draftOf(base, project))} />
          )}
          <Probe address={`${at}/probe`} />
          <span class="grow" />
          <ConfirmButton
            icon="trash"
            label="Delete the agent"
            asks={`Delete ${agent.name}?`}
            verb="Delete"
            onConfirm={remove}
          >
            <p>Its conversations cannot be continued. The data it reads is kept.</p>
          </ConfirmButton>
        </>
      }
    >
      <AgentForm
        draft={draft}
        onChange={setDraft}
        keyedProvider={keyedProviderOf(base)}
        isNameFixed
      />
    </Form>
  )
}

/** Tests a model with one short call, as stored or as typed. */
function Probe({ address, json = {} }: { readonly address: string; readonly json?: unknown }) {
  const probe = async () => {
    const outcome = await request<AgentProbe>(address, { method: 'POST', json })
    if (!outcome.ok) throw new Error(`${outcome.cause} ${outcome.next_step}`)
    const { model_name: name, provider } = outcome.model
    return `${name || provider} answered in ${shownDuration(outcome.took_ms)}`
  }
  return <TryButton label="Try the model" attempt={probe} />
}

/** Where the input of a new agent is kept while the user looks at other views. */
const NEW = 'eider.new-agent'

export function NewAgentView() {
  const { route, query } = useLocation()
  const [chosen, setProject] = useState(query.project)
  // Some users may use only other projects, which are known shortly after the page opens.
  const project = chosen ?? projects.value?.[0]?.name ?? DEFAULT_PROJECT
  const [draft, setDraft] = useState(() => ({ ...draftOf(), ...parsedArguments(draftAt(NEW)) }))
  const change = (next: AgentDraft) => {
    setDraft(next)
    // The page must not keep the key.
    keepDraft(NEW, JSON.stringify({ ...next, apiKey: '' }))
  }
  const create = async () => {
    const json = { agent: definitionOf(draft) }
    const address = path`/api/projects/${project}/agents`
    const { name, warnings } = await request<SavedAgent>(address, { method: 'POST', json })
    for (const warning of warnings) tellFailed(new Error(warning))
    keepDraft(NEW, '')
    await refreshCatalog()
    route(addressOf.agent(project, name))
  }
  return (
    <>
      <PageHeader
        title="New agent"
        above={[{ label: 'Home', href: '/' }]}
        lead="An agent answers questions from the data you choose. Without a chat model, it quotes what it finds."
      />
      <Form
        class="stack add-form"
        verb="Create the agent"
        onSend={create}
        beside={
          <Probe
            address="/api/agents/probe"
            json={{ agent: { model: definitionOf(draft).model } }}
          />
        }
      >
        <SelectField
          label="Project"
          value={project}
          onChoose={setProject}
          options={projectChoices(project)}
        />
        <AgentForm draft={draft} onChange={change} />
      </Form>
    </>
  )
}
