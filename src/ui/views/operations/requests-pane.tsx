/** The most recent finished requests, updated live. The filters are stored in the address. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { AnsweredRequest } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { givenOf, type InputField, Inputs } from '../../components/form/form.tsx'
import { counted, shownCount, shownDuration, shownTime, timeOf } from '../../components/numbers.ts'
import {
  LISTED_MAX,
  RecordList,
  RecordTable,
  type TableColumn,
} from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'

const STATUSES = [
  ['', 'Any'],
  ['failed', 'Failed, with any status'],
  ['2xx', '2xx, answered'],
  ['3xx', '3xx, redirected'],
  ['4xx', '4xx, refused'],
  ['5xx', '5xx, failed'],
] as const
const FILTERS: readonly InputField[] = [
  { name: 'status', label: 'Status', options: STATUSES },
  { name: 'route', label: 'Path contains', kind: 'search' },
  { name: 'ms_min', label: 'At least (ms)', kind: 'number', min: 0, max: 86_400_000 },
  // Left out by default, because they would fill the list.
  { name: 'from', label: "Include this page's requests", kind: 'check' },
]

export function RequestsPane() {
  const { query, route } = useLocation()
  const [isPaused, setIsPaused] = useState(false)
  const filters = givenOf(FILTERS, query)
  const requests = useResource(
    (signal) => {
      const { from, ...others } = filters
      const asked = new URLSearchParams(from ? others : { ...others, from: 'programs' })
      for (const [name, value] of [...asked]) asked.set(name, value.trim())
      return request<readonly AnsweredRequest[]>(`/api/requests?limit=${LISTED_MAX}&${asked}`, {
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
      <Inputs
        class="operations-filters"
        fields={FILTERS}
        values={filters}
        onChange={(next) => {
          route(`/operations/requests?${new URLSearchParams(givenOf(FILTERS, next))}`, true)
        }}
      >
        <Button
          icon={isPaused ? 'play' : 'pause'}
          label={isPaused ? 'Resume' : 'Pause'}
          onClick={() => setIsPaused(!isPaused)}
        />
      </Inputs>
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
