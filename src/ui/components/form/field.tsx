/** A control with its name, what it is for, and what is wrong with what was typed. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** What is said about a control. */
export interface FieldWords {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
}

/** Ties a control to its words. */
interface FieldControl {
  readonly id: string
  readonly 'aria-describedby': string
  readonly 'aria-invalid': boolean
}

interface FieldProps extends FieldWords {
  readonly children: (control: FieldControl) => ComponentChildren
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const about = `${id}-about`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': about, 'aria-invalid': Boolean(error) })}
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
