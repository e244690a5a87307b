/** Shows names and values in as many columns as fit. */
import type { ComponentChildren } from 'preact'

export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

export function Fact(props: { readonly name: string; readonly children: ComponentChildren }) {
  const { name, children } = props
  return (
    <div>
      <dt class="small quiet">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
