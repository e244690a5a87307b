/** The requests that were answered last, as they come; filters stand in the address. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { AnsweredRequest } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Field } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { shownDuration, shownTime } from '../../format/numbers.ts'
import { Loaded } from './loaded.tsx'

const ASK_AGAIN_MS = 2000
const FILTERS = ['status', 'route', 'ms_min'] as const

export function RequestsPane() {
  const { query, route } = useLocation()
  const [isPaused, setIsPaused] = useState(false)
  const given = FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : []))
  const filters = new URLSearchParams(given).toString()
  const requests = useResource(
    (signal) => request<readonly AnsweredRequest[]>(`/api/requests?${filters}`, { signal }),
    [filters],
  )
  usePolling(() => {
    if (!isPaused) requests.reload()
  }, ASK_AGAIN_MS)
  const filter = (name: (typeof FILTERS)[number], value: string) => {
    const next = new URLSearchParams(filters)
    if (value.trim() === '') next.delete(name)
    else next.set(name, value.trim())
    route(`/operations/requests?${next}`, true)
  }
  return (
    <div class="stack">
      <div class="operations-filters">
        <Field label="Status">
          {(control) => (
            <select
              {...control}
              value={query.status ?? ''}
              onChange={({ currentTarget }) => filter('status', currentTarget.value)}
            >
              <option value="">Any</option>
              <option value="2xx">2xx, answered</option>
              <option value="3xx">3xx, elsewhere</option>
              <option value="4xx">4xx, refused</option>
              <option value="5xx">5xx, failed</option>
            </select>
          )}
        </Field>
        <Field label="Path holds">
          {(control) => (
            <input
              {...control}
              type="search"
              maxLength={300}
              value={query.route ?? ''}
              onInput={({ currentTarget }) => filter('route', currentTarget.value)}
            />
          )}
        </Field>
        <Field label="At least, in ms">
          {(control) => (
            <input
              {...control}
              type="number"
              min={0}
              max={86_400_000}
              value={query.ms_min ?? ''}
              onInput={({ currentTarget }) => {
                if (currentTarget.checkValidity()) filter('ms_min', currentTarget.value)
              }}
            />
          )}
        </Field>
        <button type="button" class="button" onClick={() => setIsPaused(!isPaused)}>
          <Icon name={isPaused ? 'play' : 'pause'} />
          {isPaused ? 'Go on' : 'Pause'}
        </button>
      </div>
      <Loaded of={requests} what="the requests">
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon="filter" title="No such requests">
              <p>The newest 1,000 are known, since the server was started.</p>
            </EmptyState>
          ) : (
            <RequestTable items={items} />
          )
        }
      </Loaded>
    </div>
  )
}

function RequestTable({ items }: { readonly items: readonly AnsweredRequest[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section class="panel flush" tabIndex={0} aria-label="Requests">
      <table class="operations-wide">
        <thead>
          <tr>
            <th>When</th>
            <th>Request</th>
            <th>Status</th>
            <th class="number">Took</th>
            <th>Who</th>
          </tr>
        </thead>
        <tbody>
          {items.map((one, index) => (
            <tr key={`${one.request_id} ${index}`}>
              <td class="operations-when">{shownTime(one.started_at)}</td>
              <td class="mono" dir="auto" title={`Request ${one.request_id}`}>
                {one.method} {one.path}
              </td>
              <td>
                <span class={`badge ${lookOf(one.status)}`}>
                  {one.status}
                  {one.code !== null && ` ${one.code}`}
                </span>
              </td>
              <td class="number operations-when">{shownDuration(one.ms)}</td>
              <td dir="auto">{one.principal ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function lookOf(status: number): string {
  if (status >= 500) return 'bad'
  return status >= 400 ? 'warn' : 'good'
}
