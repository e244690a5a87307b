/** What is selected in the list, and what can be done with it: deleted, after a question. */
import {
  deleteAllDocuments,
  deleteDocuments,
  deleteNamedDocuments,
} from '../../../api/documents.ts'
import type { Filters } from '../../../api/filters.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { may } from '../../../api/session.ts'
import { Button } from '../../../components/button.tsx'
import { ConfirmButton } from '../../../components/dialog.tsx'
import { counted, shownCount } from '../../../components/numbers.ts'
import { tellDone } from '../../../shell/notices.tsx'

interface SelectionBarProps {
  readonly of: KnowledgeBaseName
  readonly selected: ReadonlySet<string>
  /** Of the list, all of which can be selected at once; undefined: it cannot. */
  readonly whole: { readonly filters: Filters; readonly total: number } | undefined
  /** Whether all of it is selected, on every page. */
  readonly isWhole: boolean
  readonly onWhole: () => void
  readonly onSelect: (ids: ReadonlySet<string>) => void
  readonly onDeleted: () => void
}

export function SelectionBar(props: SelectionBarProps) {
  const { of, selected, whole, isWhole, onWhole, onSelect, onDeleted } = props
  const all = isWhole ? whole : undefined
  const count = all?.total ?? selected.size
  if (selected.size === 0) return null
  const clear = () => onSelect(new Set())
  const isFiltered = all !== undefined && Object.keys(all.filters).length > 0
  const remove = async () => {
    const { deleted, chunks } = await (all === undefined
      ? deleteNamedDocuments(of, [...selected])
      : isFiltered
        ? deleteDocuments(of, all.filters)
        : deleteAllDocuments(of))
    tellDone(`Deleted ${counted(deleted, 'document')} with ${counted(chunks, 'chunk')}`)
    clear()
    onDeleted()
  }
  return (
    <div class="row kb-selected">
      <strong role="status">{counted(count, 'document')} selected</strong>
      {!all && whole && whole.total > selected.size && (
        <Button look="small" onClick={onWhole}>
          Select all {shownCount(whole.total)}
        </Button>
      )}
      {may('write') && (
        <ConfirmButton
          look="small"
          icon="trash"
          label="Delete"
          asks={`Delete ${counted(count, 'document')}?`}
          onConfirm={remove}
        >
          {isFiltered
            ? 'All documents that match the filters, on every page, are deleted with all of their chunks.'
            : 'They are deleted with all of their chunks.'}{' '}
          This cannot be undone.
        </ConfirmButton>
      )}
      <Button look="small" label="Select none" onClick={clear} />
    </div>
  )
}
