/** The columns beside each other; on a phone one of them, with buttons for the others. */
import { useState } from 'preact/hooks'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { shownDuration } from '../../../format/numbers.ts'
import { addressOf } from '../../../shell/addresses.ts'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import { COLUMNS, type ColumnName, type LabSettings, orderOf, type Ranks } from '../lab-settings.ts'
import type { ColumnState } from './column-search.ts'
import { SameElsewhere } from './same-elsewhere.tsx'
import { type HitActions, SearchHit } from './search-hit.tsx'

const TITLES: Readonly<Record<ColumnName, string>> = {
  vector: 'Meaning (vectors)',
  keyword: 'Words (keywords)',
  hybrid: 'Both (hybrid)',
  reranked: 'Reranked',
}

interface ResultColumnsProps {
  readonly place: KnowledgeBaseAddress
  readonly settings: LabSettings
  readonly states: Readonly<Record<ColumnName, ColumnState>>
  readonly ranks: Ranks
  readonly hasReranker: boolean
  readonly lookedAt: string | null
  readonly onRerank: () => void
  readonly actions: HitActions
}

export function ResultColumns(props: ResultColumnsProps) {
  const [shown, setShown] = useState<ColumnName>('hybrid')
  return (
    <>
      <fieldset class="search-choice row">
        <legend class="visually-hidden">Column to show</legend>
        {COLUMNS.map((column) => (
          <button
            key={column}
            type="button"
            class="button small"
            aria-pressed={shown === column}
            onClick={() => setShown(column)}
          >
            {TITLES[column]}
          </button>
        ))}
      </fieldset>
      <div class="search-columns">
        {COLUMNS.map((column) => (
          <Column key={column} column={column} isShown={shown === column} {...props} />
        ))}
      </div>
    </>
  )
}

interface ColumnProps extends ResultColumnsProps {
  readonly column: ColumnName
  readonly isShown: boolean
}

function Column({ column, isShown, ...props }: ColumnProps) {
  const { place, settings, states } = props
  const state = states[column]
  const order = orderOf(column, settings)
  return (
    <section
      class={`search-column ${isShown ? 'shown' : ''}`}
      aria-label={TITLES[column]}
      aria-busy={state.isBusy}
      data-searched={state.order?.query}
    >
      <header class="row">
        <h2>{TITLES[column]}</h2>
        <span class="grow" />
        {order !== null && state.answer && <SameElsewhere place={place} order={order} />}
      </header>
      <ColumnBody column={column} {...props} />
    </section>
  )
}

function ColumnBody({ column, ...props }: Omit<ColumnProps, 'isShown'>) {
  const { place, states, ranks, lookedAt, actions, hasReranker, onRerank } = props
  const { answer, failure, isBusy, order } = states[column]
  if (failure) return <Failure error={failure} />
  if (column === 'reranked' && !hasReranker) return <NoReranker place={place} />
  if (answer === undefined || order === undefined) {
    if (isBusy) return <Loading what="results" />
    return (
      <EmptyState icon="search" title="Press Enter to rerank">
        <button type="button" class="button" onClick={onRerank}>
          Rerank now
        </button>
      </EmptyState>
    )
  }
  return (
    <>
      {(answer.warnings ?? []).map((warning) => (
        <p key={warning} class="small bad">
          {warning}
        </p>
      ))}
      {answer.explain && <p class="small">{shownDuration(answer.explain.ms.total)}</p>}
      {answer.results.length === 0 && <p class="quiet">Nothing was found in this way.</p>}
      <ol class="search-hits">
        {answer.results.map((hit) => (
          <SearchHit
            key={hit.chunk_id}
            hit={hit}
            column={column}
            place={place}
            order={order}
            ranks={ranks}
            isLookedAt={lookedAt === hit.chunk_id}
            actions={actions}
          />
        ))}
      </ol>
    </>
  )
}

function NoReranker({ place: { project, name } }: { readonly place: KnowledgeBaseAddress }) {
  return (
    <EmptyState icon="settings" title="There is no reranking model">
      <p>
        A reranking model reads the best candidates once more and orders them anew. Choose one in
        the{' '}
        <a href={addressOf.knowledgeBaseSettings(project, name)}>settings of this knowledge base</a>
        .
      </p>
    </EmptyState>
  )
}
