/** One question to two agents, side by side. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { readTrace } from '../../api/agents.ts'
import { projects } from '../../api/catalog.ts'
import { asError } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, Failure } from '../../components/failure.tsx'
import { SelectField, TextAreaField } from '../../components/form/field.tsx'
import { counted, shownDuration } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { type AskedTurn, usageOf } from './asking/asked-turn.ts'
import { draftAt, keepDraft } from './asking/composer.tsx'
import { ask, forgetTurns, placeOf, stopAsking, turnsAt } from './asking/running-turns.ts'
import { TurnCard } from './asking/turn-card.tsx'

const SIDES = ['First agent', 'Second agent'] as const
/** Where the question is kept that was typed, and that of the address in whose place it was. */
const DRAFT = 'compare'
const DRAFTED_OVER = 'compare over'

export function CompareView() {
  const { query, route } = useLocation()
  const [question, setQuestion] = useState(() => questionAt(query.question ?? ''))
  const [failures, setFailures] = useState<readonly (Error | undefined)[]>([])
  const names = (query.agents ?? '').split(',')
  const known = (projects.value ?? []).flatMap(({ name, agents }) =>
    agents.map((agent) => `${name}.${agent.name}`),
  )
  const others = known.filter((one) => one !== names[0])
  const chosen = [names[0] || known[0] || '', names[1] || others[0] || known[0] || '']
  const places = chosen.map((one, side) => placeOf(agentOf(one), `compare ${side}`))
  const turns = places.map((place) => turnsAt(place).at(-1))
  const isRunning = turns.some((turn) => turn?.state === 'running')
  const shared = sharedChunks(turns)
  const address = (agents: readonly string[]) =>
    `/compare?${new URLSearchParams({ agents: agents.join(','), question })}`
  const askBoth = () => {
    if (question.trim() === '' || isRunning || known.length === 0) return
    route(address(chosen), true)
    setFailures([])
    chosen.forEach((one, side) => {
      forgetTurns(places[side] ?? '')
      const about = { agent: agentOf(one), conversation: `compare ${side}`, isKept: false }
      ask({ ...about, question: question.trim() }).catch((error: unknown) => {
        setFailures((before) => SIDES.map((_, at) => (at === side ? asError(error) : before[at])))
      })
    })
  }
  return (
    <>
      <PageHeader title="Compare agents" above={[{ label: 'Home', href: '/' }]} />
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          askBoth()
        }}
      >
        <div class="agents-sides">
          {SIDES.map((label, side) => (
            <AgentField
              key={label}
              label={label}
              chosen={chosen[side] ?? ''}
              known={known}
              isDisabled={isRunning}
              onChoose={(one) => route(address(chosen.with(side, one)), true)}
            />
          ))}
        </div>
        <TextAreaField
          label="Question"
          hint="Enter asks both. Only the traces are kept."
          rows={2}
          value={question}
          onText={(text) => {
            setQuestion(text)
            keepDraft(DRAFT, text)
            keepDraft(DRAFTED_OVER, query.question ?? '')
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
            event.preventDefault()
            askBoth()
          }}
        />
        <div class="row end">
          {isRunning && (
            <Button icon="stop" label="Stop both" onClick={() => places.forEach(stopAsking)} />
          )}
          <Button
            type="submit"
            look="primary"
            label="Ask both"
            disabled={isRunning || known.length === 0 || question.trim() === ''}
          />
        </div>
      </form>
      {projects.value !== undefined && known.length === 0 && (
        <EmptyState icon="agent" title="There are no agents">
          <a class="button primary" href={addressOf.newAgent()}>
            New agent
          </a>
        </EmptyState>
      )}
      <div class="agents-sides">
        {SIDES.map((label, side) => (
          <Side
            key={label}
            label={label}
            name={chosen[side] ?? ''}
            turn={turns[side]}
            failure={failures[side]}
            shared={shared}
            onStop={() => stopAsking(places[side] ?? '')}
          />
        ))}
      </div>
    </>
  )
}

/** What was typed is newer than the question of the address that it was typed over, and older than another one. */
function questionAt(address: string): string {
  const typed = draftAt(DRAFT)
  const isNewer = address === '' || address === draftAt(DRAFTED_OVER)
  return (isNewer && typed) || address
}

interface AgentFieldProps {
  readonly label: string
  readonly chosen: string
  readonly known: readonly string[]
  readonly isDisabled: boolean
  readonly onChoose: (name: string) => void
}

function AgentField({ label, chosen, known, isDisabled, onChoose }: AgentFieldProps) {
  const isGone = chosen !== '' && known.length > 0 && !known.includes(chosen)
  return (
    <SelectField
      label={label}
      error={isGone ? 'There is no agent of this name any more' : undefined}
      value={chosen}
      disabled={isDisabled}
      onChoose={onChoose}
      options={known.includes(chosen) ? known : [chosen, ...known]}
    />
  )
}

interface SideProps {
  readonly label: string
  readonly name: string
  readonly turn: AskedTurn | undefined
  readonly failure: Error | undefined
  readonly shared: ReadonlySet<string>
  readonly onStop: () => void
}

function Side({ label, name, turn, failure, shared, onStop }: SideProps) {
  const isOver = turn !== undefined && turn.state !== 'running' && turn.state !== 'cut'
  const traceId = isOver ? turn.traceId : undefined
  const trace = useResource(
    async (signal) => (traceId === undefined ? undefined : readTrace(traceId, signal)),
    [traceId],
  )
  if (turn === undefined && failure === undefined) return null
  const tookMs = turn?.endedAtMs === undefined ? undefined : turn.endedAtMs - turn.startedAtMs
  return (
    <section class="stack" aria-label={label}>
      <h2 dir="auto">{name}</h2>
      {failure && <Failure error={failure} />}
      {turn?.state === 'running' && (
        <div class="row">
          <Button look="small" icon="stop" label="Stop this one" onClick={onStop} />
        </div>
      )}
      {tookMs !== undefined && (
        <p class="agents-spent">
          <strong>{shownDuration(trace.data?.took_ms ?? tookMs)}</strong>
          <span>{trace.data ? usageOf(trace.data.usage) : ''}</span>
          <span>{counted(turn?.steps.length ?? 0, 'step')}</span>
          <span>{counted(turn?.found?.citations.length ?? 0, 'source')}</span>
        </p>
      )}
      {turn !== undefined && (
        <TurnCard
          turn={turn}
          project={agentOf(name).project}
          summary={trace.data}
          sharedChunks={shared}
          isBare
        />
      )}
    </section>
  )
}

/** Names hold no dot. */
function agentOf(name: string) {
  const [project = '', agent = ''] = name.split('.')
  return { project, name: agent }
}

function sharedChunks([first, second]: readonly (AskedTurn | undefined)[]): ReadonlySet<string> {
  const chunksOf = (turn: AskedTurn | undefined) =>
    new Set((turn?.found?.citations ?? []).map((one) => `${one.knowledge_base} ${one.chunk_id}`))
  const others = chunksOf(second)
  return new Set([...chunksOf(first)].filter((one) => others.has(one)))
}
