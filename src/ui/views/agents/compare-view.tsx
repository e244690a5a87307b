/** One question to two agents, side by side. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { readTrace } from '../../api/agents.ts'
import { projects } from '../../api/catalog.ts'
import { asError } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, Failure } from '../../components/failure.tsx'
import { SelectField, TextAreaField } from '../../components/form/field.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import type { AskedTurn } from './asking/asked-turn.ts'
import { draftAt, keepDraft } from './asking/composer.tsx'
import { ask, forgetTurns, placeOf, stopAsking, turnsAt } from './asking/running-turns.ts'
import { TurnCard } from './asking/turn-card.tsx'

const SIDES = ['First agent', 'Second agent'] as const
const DRAFT = 'compare'

export function CompareView() {
  const { query, route } = useLocation()
  const [question, setQuestion] = useState(() => draftAt(DRAFT) || (query.question ?? ''))
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
  const canAsk = question.trim() !== '' && !isRunning && known.length > 0
  const address = (agents: readonly string[]) =>
    `/compare?${new URLSearchParams({ agents: agents.join(','), question })}`
  const askBoth = () => {
    if (!canAsk) return
    keepDraft(DRAFT, '')
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
            <SelectField
              key={label}
              label={label}
              value={chosen[side] ?? ''}
              disabled={isRunning}
              onChoose={(one) => route(address(chosen.with(side, one)), true)}
              options={new Set([chosen[side] ?? '', ...known])}
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
          <Button type="submit" look="primary" label="Ask both" disabled={!canAsk} />
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
          />
        ))}
      </div>
    </>
  )
}

interface SideProps {
  readonly label: string
  readonly name: string
  readonly turn: AskedTurn | undefined
  readonly failure: Error | undefined
}

function Side({ label, name, turn, failure }: SideProps) {
  const isOver = turn !== undefined && turn.state !== 'running' && turn.state !== 'cut'
  const traceId = isOver ? turn.traceId : undefined
  const trace = useResource(
    async (signal) => (traceId === undefined ? undefined : readTrace(traceId, signal)),
    [traceId],
  )
  if (turn === undefined && failure === undefined) return null
  return (
    <section class="stack" aria-label={label}>
      {failure && <Failure error={failure} />}
      {turn && <TurnCard turn={turn} project={agentOf(name).project} summary={trace.data} />}
    </section>
  )
}

/** Names hold no dot. */
function agentOf(name: string) {
  const [project = '', agent = ''] = name.split('.')
  return { project, name: agent }
}
