/** What each knowledge base takes of memory and disk, and where its vectors lie. */
import { useState } from 'preact/hooks'
import type { Usage, UsageList } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { counted, shownBytes, shownCount } from '../../components/numbers.ts'
import { Loaded, RecordTable, Section, type TableColumn } from '../../components/record-list.tsx'
import { useRequest } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'

const PAGE = 100
const PAGE_MAX = 1000

export function UsageTable() {
  const [limit, setLimit] = useState(PAGE)
  const usage = useRequest<UsageList>(`/api/usage?limit=${limit}`)
  const refresh = (
    <Button
      look="small"
      label="Refresh"
      aria-disabled={usage.isLoading}
      onClick={() => !usage.isLoading && usage.reload()}
    />
  )
  return (
    <Section title="By knowledge base" buttons={refresh}>
      <Loaded of={usage} what="what each knowledge base takes">
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
            {next !== null && limit < PAGE_MAX && (
              <Button label="Show more" onClick={() => setLimit(PAGE_MAX)} />
            )}
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
        <bdi class="small quiet">{project}</bdi>
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
  { title: 'Disk', look: 'number', label: 'Disk', cell: ({ disk }) => <Disk of={disk} /> },
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

function Disk({ of: disk }: { readonly of: Usage['disk'] }) {
  const { texts, vectors, keywords } = disk ?? NO_DISK
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
  const size = dimensions === null ? '' : ` of ${shownCount(dimensions)} numbers`
  switch (copy) {
    case 'whole':
      return `${shownCount(count)}${size}, on disk and whole in memory`
    case 'codes':
      return `${shownCount(count)}${size}, on disk; a fifth of each in memory`
    case 'loading':
      return 'On disk; they are being loaded into memory'
    case 'none':
      return 'On disk alone'
  }
}

/** The largest first: what takes the room is what is looked for. */
function byBytes(one: Usage, other: Usage): number {
  return bytesOf(other) - bytesOf(one)
}

function bytesOf({ memory, disk }: Usage): number {
  const { texts, vectors, keywords } = disk ?? NO_DISK
  return memory.vectors + memory.rows + texts + vectors + keywords
}
