/** The runs of an agent: those under way, which can be cancelled, and those that are over. */
import { useLocation } from 'preact-iso/router'
import { cancelRun, listRuns, listTraces } from '../../api/agents.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Loading } from '../../components/progress.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { shownCount, shownDuration, shownTime } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import { type AgentAddress, AgentFrame } from './agent-frame.tsx'

const POLL_MS = 2000

export function TracesView({ project, name }: AgentAddress) {
  const { query, path, route } = useLocation()
  const filters = Object.fromEntries(
    ['outcome', 'q', 'from'].flatMap((one) => (query[one] ? [[one, query[one]]] : [])),
  )
  const found = useResource(
    (signal) => listTraces({ project, agent: name, limit: '100', ...filters }, signal),
    [project, name, filters],
  )
  const set = (field: string, value: string) => {
    const next = new URLSearchParams({ ...filters, [field]: value })
    if (value === '') next.delete(field)
    route(`${path}?${next}`, true)
  }
  return (
    <AgentFrame project={project} name={name}>
      <LiveRuns project={project} name={name} />
      <form class="row" onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          Ended
          <select
            value={query.outcome ?? ''}
            onChange={(e) => set('outcome', e.currentTarget.value)}
          >
            <option value="">in any way</option>
            <option value="answered">answered</option>
            <option value="failed">failed</option>
            <option value="cancelled">cancelled</option>
          </select>
        </label>
        <label class="field">
          Since
          <input
            type="date"
            value={query.from ?? ''}
            onChange={(event) => set('from', event.currentTarget.value)}
          />
        </label>
        <label class="field grow">
          In the question
          <input
            type="search"
            value={query.q ?? ''}
            onChange={(event) => set('q', event.currentTarget.value)}
          />
        </label>
      </form>
      {found.failure && <Failure error={found.failure} onRetry={found.reload} />}
      {found.isLoading && found.data === undefined && <Loading what="the traces" />}
      {found.data?.items.length === 0 && (
        <EmptyState icon="chart" title="No traces">
          <p class="quiet">Each question leaves one: ask the agent, or change what you look for.</p>
        </EmptyState>
      )}
      {(found.data?.items.length ?? 0) > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard
        <div class="panel flush" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Question</th>
                <th scope="col">Ended</th>
                <th scope="col" class="number">
                  Took
                </th>
                <th scope="col" class="number">
                  Steps
                </th>
                <th scope="col" class="number">
                  Tokens
                </th>
                <th scope="col">When</th>
              </tr>
            </thead>
            <tbody>
              {found.data?.items.map((trace) => (
                <tr key={trace.trace_id}>
                  <td>
                    <a href={addressOf.trace(trace.trace_id)} dir="auto">
                      {trace.question.slice(0, 200)}
                    </a>
                  </td>
                  <td>{trace.outcome}</td>
                  <td class="number">{shownDuration(trace.took_ms)}</td>
                  <td class="number">{trace.step_count}</td>
                  <td class="number">
                    {trace.usage === null
                      ? '–'
                      : shownCount(trace.usage.input_tokens + trace.usage.output_tokens)}
                  </td>
                  <td>{shownTime(trace.started_at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </AgentFrame>
  )
}

function LiveRuns({ project, name }: AgentAddress) {
  const runs = useResource((signal) => listRuns(signal), [])
  usePolling(runs.reload, POLL_MS)
  const mine = (runs.data ?? []).filter((run) => run.project === project && run.agent === name)
  if (mine.length === 0) return null
  return (
    <section class="panel stack" aria-label="Under way">
      <h2>Under way</h2>
      {mine.map(({ trace_id: id, question, state, seconds, steps }) => (
        <div key={id} class="row">
          <span class="grow one-line" dir="auto">
            {question}
          </span>
          <span class="small quiet">
            {state}, {shownDuration(seconds * 1000)}, {steps} steps
          </span>
          <button
            type="button"
            class="button small"
            onClick={() => void cancelRun(id).then(runs.reload, tellFailed)}
          >
            Cancel
          </button>
        </div>
      ))}
    </section>
  )
}
