/** A control with its name, what it is for, and what is wrong with what was typed. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  /** Gives the control the ids that tie it to its words. */
  readonly children: (control: { id: string; 'aria-describedby': string }) => ComponentChildren
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const about = `${id}-about`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': about })}
      <div id={about} class="small">
        {error ? (
          <span class="bad" role="alert">
            {error}
          </span>
        ) : (
          <span class="quiet">{hint}</span>
        )}
      </div>
    </div>
  )
}
