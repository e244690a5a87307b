/** The tabs of a view, each with its own address, and the frame around them. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Icon, type IconName } from './button.tsx'
import { EmptyState } from './failure.tsx'
import { useIsMissing } from './known-name.ts'
import { shownProject } from './numbers.ts'
import { PageHeader } from './page-header.tsx'

export interface Tab {
  readonly href: string
  readonly label: string
  readonly icon?: IconName
  /** Set if other addresses belong to this tab too. */
  readonly isCurrent?: boolean
}

export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const { path } = useLocation()
  const row = useRef<HTMLElement>(null)
  useEffect(() => {
    // In a narrow window, the current tab may be scrolled out of view.
    const current = row.current?.querySelector('[aria-current]')
    current?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [path])
  return (
    <nav ref={row} class="tabs" aria-label={label}>
      {tabs.map(({ href, label, icon, isCurrent = samePath(path, href) }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {icon && <Icon name={icon} />}
          {label}
        </a>
      ))}
    </nav>
  )
}

function samePath(path: string, href: string): boolean {
  return decodeURI(path).replace(/\/$/, '') === decodeURI(href).replace(/\/$/, '')
}

const PLACES = {
  knowledgeBases: { noun: 'knowledge base', icon: 'database', create: '/create/knowledge-base' },
  agents: { noun: 'agent', icon: 'agent', create: '/create/agent' },
} as const

/** The frame around all views of a knowledge base or an agent: its name, facts and tabs. */
export function PlaceFrame(props: {
  readonly kind: keyof typeof PLACES
  readonly project: string
  readonly name: string
  readonly tabs: readonly Tab[]
  /** The part that is shown, if it has no tab. */
  readonly part?: string | undefined
  readonly lead: ComponentChildren
  /** What is still there once it is deleted. */
  readonly rest?: ComponentChildren
  readonly children: ComponentChildren
}) {
  const { kind, project, name, tabs, part, lead, rest, children } = props
  const { path } = useLocation()
  const { noun, icon, create } = PLACES[kind]
  const tab = tabs.find(({ href, isCurrent = samePath(path, href) }) => isCurrent)
  const above = [{ label: 'Home', href: '/' }]
  if (useIsMissing(kind, { project, name })) {
    return (
      <>
        <PageHeader title={name} above={above} />
        <EmptyState icon={icon} title={`There is no ${noun} with this name`}>
          <p class="quiet">
            {name} is not in {shownProject(project)}. It may have been deleted or renamed.
          </p>
          <a class="button primary" href={`${create}?${new URLSearchParams({ project })}`}>
            New {noun}
          </a>
          {rest}
        </EmptyState>
      </>
    )
  }
  return (
    <>
      <PageHeader title={name} part={part ?? tab?.label} above={above} lead={lead} />
      <Tabs label={`Pages of this ${noun}`} tabs={tabs} />
      {children}
    </>
  )
}
