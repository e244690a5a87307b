/** What can be done with a question of a conversation. */
import { Button } from '../../../components/button.tsx'

interface TurnActionsProps {
  readonly isDisabled: boolean
  readonly onAsk: () => void
  /** Missing: the server does not know the question. */
  readonly onRemove?: (isEdited: boolean) => void
}

export function TurnActions({ isDisabled, onAsk, onRemove }: TurnActionsProps) {
  return (
    <>
      <Button look="small quiet" label="Ask again" disabled={isDisabled} onClick={onAsk} />
      {onRemove && (
        <>
          <Button
            look="small quiet"
            label="Edit"
            disabled={isDisabled}
            onClick={() => onRemove(true)}
          />
          <Button
            look="small quiet icon-only"
            icon="trash"
            aria-label="Delete this question and what followed"
            title="Delete"
            disabled={isDisabled}
            onClick={() => onRemove(false)}
          />
        </>
      )}
    </>
  )
}
