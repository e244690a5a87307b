/** What can be done with a question of a conversation. */
import { Icon } from '../../../components/icon.tsx'

interface TurnActionsProps {
  readonly isDisabled: boolean
  readonly onAsk: () => void
  /** Missing: the server does not know the question. */
  readonly onRemove?: (isEdited: boolean) => void
}

export function TurnActions({ isDisabled, onAsk, onRemove }: TurnActionsProps) {
  return (
    <>
      <button type="button" class="button small quiet" disabled={isDisabled} onClick={onAsk}>
        Ask again
      </button>
      {onRemove && (
        <>
          <button
            type="button"
            class="button small quiet"
            disabled={isDisabled}
            onClick={() => onRemove(true)}
          >
            Edit
          </button>
          <button
            type="button"
            class="button small quiet icon-only"
            aria-label="Delete this question and what followed"
            title="Delete"
            disabled={isDisabled}
            onClick={() => onRemove(false)}
          >
            <Icon name="trash" />
          </button>
        </>
      )}
    </>
  )
}
