/** Names and values, in columns as the width allows. */
import type { ComponentChildren } from 'preact'

export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

interface FactProps {
  readonly name: string
  readonly children: ComponentChildren
}

export function Fact({ name, children }: FactProps) {
  return (
    <div>
      <dt class="small quiet">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
