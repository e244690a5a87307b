/** The most recent finished requests, updated live. The filters are stored in the address. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { AnsweredRequest } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { Check, SelectField, TextField } from '../../components/form/field.tsx'
import { counted, shownCount, shownDuration, shownTime, timeOf } from '../../components/numbers.ts'
import { RecordList, RecordTable, type TableColumn } from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'

const FILTERS = ['status', 'route', 'ms_min', 'from'] as const
const SHOWN_MAX = 200
const STATUSES = [
  ['', 'Any'],
  ['failed', 'Failed, with any status'],
  ['2xx', '2xx, answered'],
  ['3xx', '3xx, redirected'],
  ['4xx', '4xx, refused'],
  ['5xx', '5xx, failed'],
] as const
/** Left out by default, because the page's own requests would fill the list. */
const EVERYBODY = 'all'

export function RequestsPane() {
  const { query } = useLocation()
  const [isPaused, setIsPaused] = useState(false)
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
    if (!isPaused) requests.reload()
  }, 'often')
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
      <RecordList of={requests} what="the requests" empty={<NoRequests />}>
        {(items) => (
          <>
            <p class="small quiet">
              {summaryOf(items)}
              {isPaused && ' · paused'}
            </p>
            <RecordTable label="Requests" rows={items} columns={COLUMNS} />
          </>
        )}
      </RecordList>
    </div>
  )
}

function NoRequests() {
  return (
    <EmptyState icon="filter" title="No matching requests">
      <p>The last 1,000 since the server started are kept.</p>
    </EmptyState>
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
      <Check
        checked={query.from === EVERYBODY}
        onCheck={(isChecked) => filter('from', isChecked ? EVERYBODY : '')}
      >
        Include this page's requests
      </Check>
    </>
  )
}

/** Returns a summary such as `200 requests · 3 failed`. */
function summaryOf(items: readonly AnsweredRequest[]): string {
  const failed = items.filter(({ status, code }) => status >= 400 || code !== null).length
  return counted(items.length, 'request') + (failed > 0 ? ` · ${shownCount(failed)} failed` : '')
}

/** Most are from one day, and many are close together. */
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })

const COLUMNS: readonly TableColumn<AnsweredRequest>[] = [
  {
    title: 'When',
    look: 'one-line',
    cell: ({ started_at: at }) => <span title={shownTime(at)}>{CLOCK.format(timeOf(at))}</span>,
  },
  {
    title: 'Request',
    look: 'mono stacked-first',
    cell: (one) => <span title={`Request ${one.request_id}`}>{`${one.method} ${one.path}`}</span>,
  },
  {
    title: 'Status',
    cell: ({ status, code }) => (
      <span class={`badge ${lookOf(status, code)}`}>
        {code === null ? status : `${status} ${code}`}
      </span>
    ),
  },
  {
    title: 'Took',
    look: 'number one-line',
    cell: ({ ms }) => (ms < 1 ? '< 1 ms' : shownDuration(ms)),
  },
  { title: 'Who', look: 'named', cell: whoOf },
]

function whoOf({ principal, is_from_page: isFromPage }: AnsweredRequest): string {
  const page = isFromPage ? 'page' : ''
  return [principal ?? '', page].filter((words) => words !== '').join(' · ') || '–'
}

/** A failed statement has status 200, because clients expect that, and an error in the body. */
function lookOf(status: number, code: string | null): string {
  if (status >= 500 || (status < 400 && code !== null)) return 'bad'
  return status >= 400 ? 'warn' : 'good'
}
