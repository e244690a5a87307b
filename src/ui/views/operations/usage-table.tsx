/** What each knowledge base takes of memory and disk, and where its vectors lie. */
import { useState } from 'preact/hooks'
import type { Usage, UsageList } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { counted, shownBytes, shownCount } from '../../components/numbers.ts'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'

const PAGE = 100
const PAGE_MAX = 1000

export function UsageTable() {
  const [limit, setLimit] = useState(PAGE)
  const usage = useResource(
    (signal) => request<UsageList>(`/api/usage?limit=${limit}`, { signal }),
    [limit],
  )
  return (
    <section class="stack" aria-labelledby="operations-usage">
      <div class="row">
        <h2 id="operations-usage" class="grow">
          By knowledge base
        </h2>
        <Button
          look="small"
          label="Refresh"
          aria-disabled={usage.isLoading}
          onClick={() => !usage.isLoading && usage.reload()}
        />
      </div>
      <Loaded of={usage} what="what each knowledge base takes">
        {({ items, total, next }) =>
          items.length === 0 ? (
            <EmptyState icon="database" title="No knowledge base yet">
              <p>
                <a href={addressOf.newKnowledgeBase()}>Create one</a>: its memory and disk are shown
                here.
              </p>
            </EmptyState>
          ) : (
            <>
              {next !== null && (
                <p class="small quiet">
                  {shownCount(items.length)} of {counted(total, 'knowledge base')}, the largest of
                  these first.
                </p>
              )}
              <Rows items={items} />
              {next !== null && limit < PAGE_MAX && (
                <Button label="Show more" onClick={() => setLimit(PAGE_MAX)} />
              )}
            </>
          )
        }
      </Loaded>
    </section>
  )
}

function Rows({ items }: { readonly items: readonly Usage[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section class="panel flush" tabIndex={0} aria-label="Memory and disk by knowledge base">
      <table class="stacked">
        <thead>
          <tr>
            <th>Knowledge base</th>
            <th class="number">Chunks</th>
            <th class="number">Memory</th>
            <th class="number">Disk</th>
            <th>Vectors</th>
          </tr>
        </thead>
        <tbody>
          {items.toSorted(byBytes).map((one) => (
            <tr key={`${one.project}.${one.knowledge_base}`}>
              <td class="stacked-first">
                <a dir="auto" href={addressOf.knowledgeBase(one.project, one.knowledge_base)}>
                  {one.knowledge_base}
                </a>
                <span class="small quiet" dir="auto">
                  {' '}
                  {one.project}
                </span>
              </td>
              <td class="number" data-label="Chunks">
                {shownCount(one.chunks)}
              </td>
              <td class="number" data-label="Memory">
                {shownBytes(one.memory.vectors + one.memory.rows)}
                <p class="small quiet">
                  {shownBytes(one.memory.vectors)} vectors, {shownBytes(one.memory.rows)} texts
                </p>
              </td>
              <td class="number" data-label="Disk">
                <Disk of={one.disk} />
              </td>
              <td class="stacked-last">
                {copyWords(one)}
                {one.index.type !== 'auto' && (
                  <>
                    {' '}
                    <span class={`badge ${INDEX_LOOKS[one.index.state]}`}>
                      {one.index.type.toUpperCase()} {one.index.state}
                    </span>
                  </>
                )}
                <p class="small quiet">{one.index.detail}</p>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
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
