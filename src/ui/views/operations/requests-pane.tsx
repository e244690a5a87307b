/** The requests that were answered last, as they come; filters stand in the address. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { AnsweredRequest } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { SelectField } from '../../components/form/select-field.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { RequestTable, summaryOf } from './request-table.tsx'

const ASK_AGAIN_MS = 2000
const FILTERS = ['status', 'route', 'ms_min', 'from'] as const
const SHOWN_MAX = 200
const STATUSES = [
  ['', 'Any'],
  ['2xx', '2xx, answered'],
  ['3xx', '3xx, elsewhere'],
  ['4xx', '4xx, refused'],
  ['5xx', '5xx, failed'],
] as const
/** What this page asks for by itself would fill the list: it is left out until somebody wants it. */
const EVERYBODY = 'all'

export function RequestsPane() {
  const { query } = useLocation()
  const [isPaused, setIsPaused] = useState(false)
  const [isHeld, setIsHeld] = useState(false)
  const filters = filtersIn(query).toString()
  const requests = useResource(
    (signal) => {
      const asked = new URLSearchParams(filters)
      if (asked.get('from') === EVERYBODY) asked.delete('from')
      else asked.set('from', 'programs')
      return request<readonly AnsweredRequest[]>(`/api/requests?limit=${SHOWN_MAX}&${asked}`, {
        signal,
      })
    },
    [filters],
  )
  usePolling(() => {
    if (!isPaused && !isHeld) requests.reload()
  }, ASK_AGAIN_MS)
  return (
    <div class="stack">
      <div class="operations-filters">
        <RequestFilters />
        <Button
          icon={isPaused ? 'play' : 'pause'}
          label={isPaused ? 'Resume' : 'Pause'}
          onClick={() => setIsPaused(!isPaused)}
        />
      </div>
      <Loaded of={requests} what="the requests">
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon="filter" title="No such requests">
              <p>The last 1,000 since the server started are kept.</p>
            </EmptyState>
          ) : (
            <>
              <p class="small quiet">
                {summaryOf(items)}
                {isPaused ? ' · paused' : isHeld ? ' · paused while you look at one' : ''}
              </p>
              <RequestTable items={items} onHold={setIsHeld} />
            </>
          )
        }
      </Loaded>
    </div>
  )
}

function filtersIn(query: Readonly<Record<string, string>>): URLSearchParams {
  return new URLSearchParams(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
}

function RequestFilters() {
  const { query, route } = useLocation()
  const filter = (name: (typeof FILTERS)[number], value: string) => {
    const next = filtersIn(query)
    if (value.trim() === '') next.delete(name)
    else next.set(name, value.trim())
    route(`/operations/requests?${next}`, true)
  }
  return (
    <>
      <SelectField
        label="Status"
        value={query.status ?? ''}
        onChoose={(value) => filter('status', value)}
        options={STATUSES}
      />
      <TextField
        label="Path contains"
        type="search"
        maxLength={300}
        value={query.route ?? ''}
        onText={(text) => filter('route', text)}
      />
      <TextField
        label="At least (ms)"
        type="number"
        min={0}
        max={86_400_000}
        value={query.ms_min ?? ''}
        onText={(text, input) => {
          if (input.checkValidity()) filter('ms_min', text)
        }}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={query.from === EVERYBODY}
          onChange={({ currentTarget }) => filter('from', currentTarget.checked ? EVERYBODY : '')}
        />
        Include this page's requests
      </label>
    </>
  )
}
