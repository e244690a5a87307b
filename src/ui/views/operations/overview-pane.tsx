/** The server's state: health, load, memory, disk and restarts. */

import type { ComponentChildren } from 'preact'
import type { Health, ServerStatus, Usage, UsageList } from '../../api/records.ts'
import { ApiError, request } from '../../api/request.ts'
import { loginCount, may, mayRunServer, noteStatus } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { type Fact, Facts } from '../../components/facts.tsx'
import { EmptyState } from '../../components/failure.tsx'
import {
  counted,
  shownAge,
  shownBytes,
  shownCount,
  shownProject,
  shownTime,
} from '../../components/numbers.ts'
import { Loaded, RecordTable, Section, type TableColumn } from '../../components/record-list.tsx'
import { useLongList, usePolling, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'

export function OverviewPane() {
  return (
    <div class="stack">
      <State />
      {may('read') ? (
        <UsageTable />
      ) : (
        <p class="quiet">Only users who can read see the size of knowledge bases.</p>
      )}
    </div>
  )
}

function State() {
  const state = useResource(async (signal) => {
    const loginsBefore = loginCount.value
    const [status, trouble] = await Promise.all([
      request<ServerStatus>('/api/status', { signal }),
      readTrouble(signal),
    ])
    // These requests need no login, so only their answer shows that the session has ended. An
    // answer from before a new sign-in does not count.
    if (!status.auth.confirmed && loginCount.value === loginsBefore) noteStatus(status)
    return { status, trouble }
  }, [])
  usePolling(state.reload, 'often')
  return (
    <Loaded of={state} what="the state of the server">
      {({ status, trouble }) => (
        <div class="stack">
          <div class="grid">
            <Server status={status} trouble={trouble} />
            <Memory status={status} />
            <Disk status={status} />
            <BackupState status={status} />
          </div>
          {status.restarts && <Restarts restarts={status.restarts} />}
          {!mayRunServer() && (
            <p class="quiet">Only admins see memory, disk, restarts and backups.</p>
          )}
        </div>
      )}
    </Loaded>
  )
}

/** The server's own message about a problem; undefined if it is healthy. */
async function readTrouble(signal: AbortSignal): Promise<string | undefined> {
  try {
    await request<Health>('/healthz', { signal })
    return undefined
  } catch (error) {
    if (error instanceof ApiError && error.code === 'unhealthy') return error.message
    throw error
  }
}

function Panel(props: {
  readonly title: string
  readonly facts: readonly Fact[]
  readonly trouble?: string | undefined
  readonly children?: ComponentChildren
}) {
  const { title, facts, trouble, children } = props
  return (
    <Section title={title} class="panel stack">
      {trouble !== undefined && <p class="bad pre">{trouble}</p>}
      {children}
      <Facts facts={facts} />
    </Section>
  )
}

interface PartProps {
  readonly status: ServerStatus
}

function Server({ status, trouble }: PartProps & { readonly trouble: string | undefined }) {
  const { eider_version: version, statements, auth, indexes } = status
  const possible = Object.entries(indexes).filter(([, one]) => one.possible)
  const health = (
    <span class={`badge ${trouble === undefined ? 'good' : 'bad'}`}>
      {trouble === undefined ? 'Healthy' : 'Not healthy'}
    </span>
  )
  const running: readonly Fact[] = statements
    ? [['Statements', `${statements.running} running, ${statements.waiting} waiting`]]
    : []
  const abandoned = statements?.abandoned.length ?? 0
  const facts: readonly Fact[] = [
    ['Health', health],
    ['Version', version],
    ['Login', auth.http_auth_enabled ? 'On' : 'Off: open to everyone who can reach it'],
    [
      'Vector indexes',
      possible.map(([name]) => (name === 'exact' ? name : name.toUpperCase())).join(', '),
    ],
    ...running,
    ...(abandoned > 0 ? [['Not stopped yet', counted(abandoned, 'statement')] as const] : []),
  ]
  return <Panel title="Server" facts={facts} trouble={trouble} />
}

function Memory({ status: { memory } }: PartProps) {
  if (memory === undefined) return null
  const { rss, data, start, limit, readers, interrupted } = memory
  const room = limit === null || start === null ? 0 : limit - start
  const used = Math.max(0, (data ?? 0) - (start ?? 0))
  const facts: readonly Fact[] = [
    ['In use', shownBytes(rss)],
    ['Used since startup', room > 0 ? `${shownBytes(used)} of ${shownBytes(room)}` : 'No limit'],
    ['Limit per file reader', shownBytes(readers)],
    ['Statements stopped for lack of memory', interrupted],
  ]
  return (
    <Panel title="Memory" facts={facts}>
      {room > 0 && <meter aria-label="Memory in use" value={Math.min(used, room)} max={room} />}
    </Panel>
  )
}

function Disk({ status: { disk } }: PartProps) {
  if (disk === undefined) return null
  const { free, reserve, data, log, files, full } = disk
  const used = data + log + files
  const facts: readonly Fact[] = [
    ['Database', shownBytes(data + log)],
    ['Uploaded files', shownBytes(files)],
    ['Free', free === null ? 'Unknown' : shownBytes(free)],
    ['Kept free', shownBytes(reserve)],
  ]
  const trouble = full
    ? 'The disk is full. Nothing can be stored until there is free space.'
    : undefined
  return (
    <Panel title="Disk" facts={facts} trouble={trouble}>
      {free !== null && <meter aria-label="Disk in use" value={used} max={used + free} />}
    </Panel>
  )
}

function BackupState({ status: { backups } }: PartProps) {
  if (backups === undefined) return null
  const { last, next, failed } = backups
  const facts: readonly Fact[] = [
    ['Newest', last === null ? 'None yet' : shownAge(last.created_at, Date.now())],
    ['Next', next === null ? 'Not scheduled' : shownTime(next)],
    ['', <a href="/operations/backups">All backups</a>],
  ]
  const trouble = failed
    ? `Failed ${shownAge(failed.at, Date.now())}: ${failed.message}`
    : undefined
  return <Panel title="Backups" facts={facts} trouble={trouble} />
}

function Restarts({ restarts: { count, last } }: Required<Pick<ServerStatus, 'restarts'>>) {
  const running = (last?.running ?? []).map(({ request: what, statement }) => statement ?? what)
  return (
    <Section title="Restarts after a failure" class="panel stack">
      <p>
        {last === null
          ? 'None. The server has not crashed.'
          : `${count === 0 ? 'None since the last start' : counted(count, 'restart')}; the last one ${shownAge(last.at, Date.now())}: ${last.reason}`}
      </p>
      {running.length > 0 && <code>{running.join('\n')}</code>}
    </Section>
  )
}

function UsageTable() {
  const usage = useLongList((limit, signal) =>
    request<UsageList>(`/api/usage?limit=${limit}`, { signal }),
  )
  return (
    <Section
      title="By knowledge base"
      buttons={<Button look="small" label="Refresh" onClick={usage.reload} />}
    >
      <Loaded of={usage} what="the memory and disk usage">
        {({ items, total, next }) => (
          <>
            {items.length === 0 && <NoKnowledgeBases />}
            {next !== null && (
              <p class="small quiet">
                {shownCount(items.length)} of {counted(total, 'knowledge base')}, the largest of
                these first.
              </p>
            )}
            {items.length > 0 && (
              <RecordTable
                label="Memory and disk by knowledge base"
                rows={items.toSorted(byBytes)}
                columns={COLUMNS}
              />
            )}
            {usage.showMore && <Button label="Show more" onClick={usage.showMore} />}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function NoKnowledgeBases() {
  return (
    <EmptyState icon="database" title="No knowledge base yet">
      <p>
        <a href={addressOf.newKnowledgeBase()}>Create one</a>: its memory and disk are shown here.
      </p>
    </EmptyState>
  )
}

const COLUMNS: readonly TableColumn<Usage>[] = [
  {
    title: 'Knowledge base',
    look: 'stacked-first',
    cell: ({ project, knowledge_base: name }) => (
      <>
        <a href={addressOf.knowledgeBase(project, name)}>
          <bdi>{name}</bdi>
        </a>{' '}
        <bdi class="small quiet">{shownProject(project)}</bdi>
      </>
    ),
  },
  { title: 'Chunks', look: 'number', label: 'Chunks', cell: ({ chunks }) => shownCount(chunks) },
  {
    title: 'Memory',
    look: 'number',
    label: 'Memory',
    cell: ({ memory: { vectors, rows } }) => (
      <>
        {shownBytes(vectors + rows)}
        <p class="small quiet">
          {shownBytes(vectors)} vectors, {shownBytes(rows)} texts
        </p>
      </>
    ),
  },
  { title: 'Disk', look: 'number', label: 'Disk', cell: (one) => <UsedDisk of={one} /> },
  { title: 'Vectors', look: 'stacked-last', cell: (one) => <Vectors of={one} /> },
]

function Vectors({ of: usage }: { readonly of: Usage }) {
  const { type, state, detail } = usage.index
  return (
    <>
      {copyWords(usage)}{' '}
      {type !== 'auto' && (
        <span class={`badge ${INDEX_LOOKS[state]}`}>{`${type.toUpperCase()} ${state}`}</span>
      )}
      <p class="small quiet">{detail}</p>
    </>
  )
}

function UsedDisk({ of: { disk, chunks } }: { readonly of: Usage }) {
  const { texts, vectors, keywords } = disk ?? NO_DISK
  if (texts + vectors + keywords === 0 && chunks > 0) {
    // The database counts whole blocks, and moves recent data from its log from time to time.
    return <>In the database's log</>
  }
  return (
    <>
      {shownBytes(texts + vectors + keywords)}
      <p class="small quiet">
        {shownBytes(vectors)} vectors, {shownBytes(texts)} texts, {shownBytes(keywords)} words
      </p>
    </>
  )
}

const NO_DISK = { texts: 0, vectors: 0, keywords: 0 }

const INDEX_LOOKS: Readonly<Record<Usage['index']['state'], string>> = {
  ...{ ready: 'good', exact: '', building: 'accent', unavailable: 'bad' },
}

function copyWords({ vectors: { copy, count }, dimensions }: Usage): string {
  const size = dimensions === null ? '' : ` of ${counted(dimensions, 'dimension')}`
  const all = `${counted(count, 'vector')}${size}`
  switch (copy) {
    case 'whole':
      return `${all}, on disk and in memory`
    case 'codes':
      return `${all}, on disk; a fifth of each in memory`
    case 'loading':
      return `${all}, on disk; loading into memory`
    case 'none':
      return `${all}, only on disk`
  }
}

/** Sorts by size, largest first. */
function byBytes(one: Usage, other: Usage): number {
  return bytesOf(other) - bytesOf(one)
}

function bytesOf({ memory, disk }: Usage): number {
  const { texts, vectors, keywords } = disk ?? NO_DISK
  return memory.vectors + memory.rows + texts + vectors + keywords
}
