/** One question to two agents, side by side. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects } from '../../api/catalog.ts'
import { Field } from '../../components/field.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { shownDuration } from '../../format/numbers.ts'
import { tellFailed } from '../../shell/notices.tsx'
import type { AskedTurn } from './asking/asked-turn.ts'
import { ask, forgetTurns, placeOf, stopAsking, turnsAt } from './asking/running-turns.ts'
import { TurnCard } from './asking/turn-card.tsx'

const SIDES = ['First agent', 'Second agent'] as const

export function CompareView() {
  const { query, route } = useLocation()
  const [question, setQuestion] = useState(query.question ?? '')
  const names = (query.agents ?? '').split(',')
  const known = (projects.value ?? []).flatMap(({ name, agents }) =>
    agents.map((agent) => `${name}.${agent.name}`),
  )
  const chosen = SIDES.map((_, side) => names[side] || known[side] || known[0] || '')
  const places = chosen.map((one, side) => placeOf(agentOf(one), `compare ${side}`))
  const turns = places.map((place) => turnsAt(place).at(-1))
  const isRunning = turns.some((turn) => turn?.state === 'running')
  const shared = sharedChunks(turns)
  const address = (agents: readonly string[]) =>
    `/compare?${new URLSearchParams({ agents: agents.join(','), question })}`
  const askBoth = () => {
    route(address(chosen), true)
    chosen.forEach((one, side) => {
      forgetTurns(places[side] ?? '')
      const conversation = `compare ${side}`
      ask({ agent: agentOf(one), conversation, isKept: false, question }).catch(tellFailed)
    })
  }
  return (
    <>
      <PageHeader title="Compare agents" above={[{ label: 'Home', href: '/' }]} />
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (question.trim() !== '' && !isRunning) askBoth()
        }}
      >
        <div class="agents-sides">
          {SIDES.map((label, side) => (
            <Field key={label} label={label}>
              {(control) => (
                <select
                  {...control}
                  value={chosen[side]}
                  onChange={(event) => {
                    route(address(chosen.with(side, event.currentTarget.value)), true)
                  }}
                >
                  {known.map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
              )}
            </Field>
          ))}
        </div>
        <Field label="Question" hint="Nothing is kept but the traces.">
          {(control) => (
            <textarea
              {...control}
              rows={2}
              dir="auto"
              value={question}
              onInput={(event) => setQuestion(event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="row end">
          {isRunning && (
            <button type="button" class="button" onClick={() => places.forEach(stopAsking)}>
              Stop
            </button>
          )}
          <button type="submit" class="button primary" disabled={isRunning || known.length === 0}>
            Ask both
          </button>
        </div>
      </form>
      <div class="agents-sides">
        {turns.map((turn, side) => {
          const [one = ''] = [chosen[side]]
          return (
            <section key={SIDES[side]} class="stack" aria-label={SIDES[side]}>
              <h2 dir="auto">
                {one}{' '}
                {turn?.endedAtMs !== undefined && (
                  <span class="small quiet">
                    {shownDuration(turn.endedAtMs - turn.startedAtMs)}
                  </span>
                )}
              </h2>
              {turn !== undefined && (
                <TurnCard turn={turn} project={agentOf(one).project} sharedChunks={shared} />
              )}
            </section>
          )
        })}
      </div>
    </>
  )
}

/** Names hold no dot. */
function agentOf(name: string) {
  const [project = '', agent = ''] = name.split('.')
  return { project, name: agent }
}

function sharedChunks([first, second]: readonly (AskedTurn | undefined)[]): ReadonlySet<string> {
  const chunksOf = (turn: AskedTurn | undefined) =>
    new Set((turn?.output?.citations ?? []).map((one) => `${one.knowledge_base} ${one.chunk_id}`))
  const others = chunksOf(second)
  return new Set([...chunksOf(first)].filter((one) => others.has(one)))
}
