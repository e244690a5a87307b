/** Changes, tests or deletes an agent. */
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { DEFAULT_PROJECT } from '../../../core/domain/names.ts'
import type { AgentName } from '../../api/agents.ts'
import { projects, refreshCatalog } from '../../api/catalog.ts'
import type { Agent, AgentProbe, SavedAgent } from '../../api/records.ts'
import { bodyOf, path, request, requestStream } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmButton } from '../../components/dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { SelectField } from '../../components/form/field.tsx'
import { Form } from '../../components/form/form.tsx'
import { projectChoices } from '../../components/known-name.ts'
import { shownDuration } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Loaded } from '../../components/record-list.tsx'
import { useAction, useRequest } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellDone, tellFailed } from '../../shell/notices.tsx'
import {
  type AgentDraft,
  definitionOf,
  draftAfter,
  draftOf,
  forgetDraft,
  isSameDraft,
  keepDraft,
  keptDraft,
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
        {(data) => <Settings key={at} at={at} agent={data} />}
      </Loaded>
    </AgentFrame>
  )
}

function Settings({ at, agent }: { readonly at: string; readonly agent: Agent }) {
  const { route } = useLocation()
  const { base, draft, type, begin: beginWith } = useAgentDraft(at, agent)
  const { act, failure, isBusy } = useAction()
  const [newer, setNewer] = useState<Agent>()
  const isChanged = !isSameDraft(draft, draftOf(base))
  const begin = (from: Agent, sent?: AgentDraft) => {
    beginWith(from, sent)
    setNewer(undefined)
  }
  const save = (known: Agent) => {
    void act(async () => {
      // Reads the agent again, because another window may have changed it.
      const answer = await requestStream(at)
      // The route's schema on the server guarantees this form.
      const now = (await bodyOf(answer, () => answer.json())) as Agent
      if (now.updated_at !== known.updated_at) {
        setNewer(now)
        return
      }
      const { name: _name, ...changes } = definitionOf(draft, now)
      const version = answer.headers.get('etag')
      const headers = version === null ? {} : { 'if-match': version }
      const json = { agent: changes }
      const saved = await request<SavedAgent>(at, { method: 'PUT', json, headers })
      begin(saved, draft)
      tellDone('Saved')
      for (const warning of saved.warnings) tellFailed(new Error(warning))
      void refreshCatalog().catch(() => {})
    })
  }
  const remove = async () => {
    await request(at, { method: 'DELETE' })
    forgetDraft(at)
    // Before the list is reloaded; otherwise this view would report a missing agent.
    route('/')
    await refreshCatalog().catch(() => {})
  }
  return (
    <form
      class="stack agent-form"
      onSubmit={(event) => {
        event.preventDefault()
        save(newer ?? base)
      }}
    >
      <AgentForm draft={draft} onChange={type} keyedProvider={keyedProviderOf(base)} isNameFixed />
      {failure && <Failure error={failure} />}
      {newer && (
        <div class="failure" role="alert">
          <p>
            <strong>Another window or user changed this agent after you opened it.</strong> Save
            again to keep your changes, or load theirs.
          </p>
          <Button label="Load theirs" onClick={() => begin(newer)} />
        </div>
      )}
      <div class="row">
        <Button
          type="submit"
          look="primary"
          label={newer ? 'Keep mine' : 'Save'}
          aria-disabled={isBusy}
        />
        {isChanged && (
          <Button
            label="Discard changes"
            onClick={() => begin(agent.updated_at > base.updated_at ? agent : base)}
          />
        )}
        <Probe address={`${at}/probe`} note={isChanged ? ' as saved' : ''} />
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
      </div>
    </form>
  )
}

/** The form's input, and the agent that it started from. */
function useAgentDraft(at: string, agent: Agent) {
  /** Kept when the agent is read again, so that no input is lost. */
  const [base, setBase] = useState(() => keptDraft(at)?.base ?? agent)
  const [draft, setDraft] = useState(() => keptDraft(at)?.draft ?? draftOf(agent))
  /** The latest input, for work that takes a while, such as saving. */
  const latest = useRef(draft)
  const show = (next: AgentDraft, from: Agent) => {
    latest.current = next
    setDraft(next)
    if (isSameDraft(next, draftOf(from))) forgetDraft(at)
    else keepDraft(at, { draft: next, base: from })
  }
  return {
    base,
    draft,
    type: (next: AgentDraft) => show(next, base),
    /** @param sent what was saved, so that later input stays; if missing, all input is replaced */
    begin: (from: Agent, sent: AgentDraft = latest.current) => {
      const known = withoutKey(from)
      setBase(known)
      show(draftAfter(known, sent, latest.current), known)
    },
  }
}

interface ProbeProps {
  readonly address: string
  readonly json?: unknown
  readonly note?: string
}

/** Tests a model with one short call, as stored or as typed. */
function Probe({ address, json = {}, note = '' }: ProbeProps) {
  const [outcome, setOutcome] = useState<AgentProbe>()
  const { act, failure, isBusy } = useAction()
  const probe = async () => {
    await act(async () => {
      setOutcome(await request(address, { method: 'POST', json }))
    })
  }
  return (
    <>
      <Button label="Try the model" aria-disabled={isBusy} onClick={probe} />
      <span role="status" class="small">
        {failure?.message}
        {isBusy && `Asking the model${note} …`}
        {outcome?.ok && (
          <span class="good">
            {outcome.model.model_name || outcome.model.provider} answered in{' '}
            {shownDuration(outcome.took_ms)}
          </span>
        )}
        {outcome && !outcome.ok && (
          <span class="bad">
            {outcome.cause} {outcome.next_step}
          </span>
        )}
      </span>
    </>
  )
}

/** The storage key for a new agent; no agent can have this name. */
const PLACE = '/new'

export function NewAgentView() {
  const { route, query } = useLocation()
  const [chosen, setProject] = useState(query.project)
  // Some users may use only other projects, which are known shortly after the page opens.
  const project = chosen ?? projects.value?.[0]?.name ?? DEFAULT_PROJECT
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
        lead="An agent answers questions from the data you choose. Without a chat model, it quotes what it finds."
      />
      <Form
        class="stack agent-form"
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
