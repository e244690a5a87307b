import type { ComponentChildren, InputHTMLAttributes } from 'preact'

interface CheckProps {
  readonly type?: 'checkbox' | 'radio'
  /** Of those of which one is chosen. */
  readonly name?: string
  readonly checked: boolean
  readonly disabled?: boolean
  readonly onCheck: (isChecked: boolean) => void
  readonly children: ComponentChildren
}

/** A box to tick with its words, or one of several to choose. */
export function Check({ type = 'checkbox', onCheck, children, ...state }: CheckProps) {
  // Preact's types know each kind of input by itself; this is one of them.
  const input = { ...state, type } as InputHTMLAttributes
  return (
    <label class="check">
      <input {...input} onChange={({ currentTarget }) => onCheck(currentTarget.checked)} />
      {children}
    </label>
  )
}
