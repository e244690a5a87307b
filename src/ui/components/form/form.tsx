/** A form that sends itself: what was typed stays, and why it failed is shown above its button. */
import type { ComponentChildren, FormHTMLAttributes } from 'preact'
import { Button } from '../button.tsx'
import { Failure } from '../failure.tsx'
import { useAction } from '../resource.ts'

interface FormProps extends Omit<FormHTMLAttributes, 'action' | 'label' | 'onSubmit'> {
  /** The verb on the button: `Create`. */
  readonly verb: string
  readonly look?: string
  /** Something has to be typed yet that no field can ask for by itself. */
  readonly isIncomplete?: boolean
  /** @returns once it is sent; what it throws is shown */
  readonly onSend: () => Promise<void>
  /** More buttons. */
  readonly beside?: ComponentChildren
}

export function Form(props: FormProps) {
  const { verb, look = 'primary', isIncomplete = false, onSend, beside, children, ...form } = props
  const { act, failure, isBusy } = useAction()
  return (
    <form
      class="stack"
      {...form}
      onSubmit={(event) => {
        event.preventDefault()
        void act(onSend)
      }}
    >
      {children}
      {failure && <Failure error={failure} />}
      <div class="row">
        <Button
          type="submit"
          look={look}
          label={verb}
          disabled={isIncomplete}
          aria-disabled={isBusy}
        />
        {beside}
      </div>
    </form>
  )
}
