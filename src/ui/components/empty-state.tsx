/** What stands where a list would be: why there is nothing, and what to do. */
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface EmptyStateProps {
  readonly icon: IconName
  readonly title: string
  /** What to do: a sentence, and the buttons for it. */
  readonly children?: ComponentChildren
}

export function EmptyState({ icon, title, children }: EmptyStateProps) {
  return (
    <div class="empty-state">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children}
    </div>
  )
}
