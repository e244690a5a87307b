/** A field whose value counts when it is left or Enter is pressed: what is typed stays while the rest is drawn again. */
import { useLayoutEffect, useState } from 'preact/hooks'

interface TypedInputProps {
  readonly kind: 'number' | 'date' | 'search'
  readonly label?: string
  readonly value: string
  readonly placeholder?: string | undefined
  readonly min?: number
  readonly max?: number | undefined
  readonly class?: string
  readonly onCommit: (text: string) => void
}

const INPUTS = {
  number: { type: 'number', step: 'any' },
  date: { type: 'date' },
  search: { type: 'search' },
} as const

export function TypedInput({ kind, label, value, onCommit, ...others }: TypedInputProps) {
  const [text, setText] = useState(value)
  // Before anybody can type into what has just appeared.
  useLayoutEffect(() => setText(value), [value])
  const { min, max, placeholder, class: look } = others
  const bounds = { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
  return (
    <input
      {...INPUTS[kind]}
      {...bounds}
      class={look ?? ''}
      aria-label={label}
      placeholder={placeholder ?? ''}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onChange={(event) => onCommit(event.currentTarget.value)}
    />
  )
}
