/** What all views of one knowledge base have around them: its name and the way to each of them. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { may } from '../../api/session.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { useIsMissing } from '../../components/known-name.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Tabs, useTabOf } from '../../components/tabs.tsx'
import { addressOf } from '../../shell/addresses.ts'
import { useShortcuts } from '../../shell/keyboard.tsx'
import { KnowledgeBaseFacts } from './knowledge-base-facts.tsx'

interface KnowledgeBaseFrameProps {
  readonly project: string
  readonly name: string
  /** Buttons beside the name. */
  readonly actions?: ComponentChildren
  /** What of it is shown, where that is none of its tabs. */
  readonly part?: string
  readonly children: ComponentChildren
}

export function KnowledgeBaseFrame(props: KnowledgeBaseFrameProps) {
  const { project, name, actions, children } = props
  const { route } = useLocation()
  const tabs = [
    { href: addressOf.knowledgeBase(project, name), label: 'Documents', icon: 'file' },
    { href: addressOf.searchLab(project, name), label: 'Search', icon: 'search' },
    { href: addressOf.map(project, name), label: 'Map', icon: 'map' },
    { href: addressOf.addDocuments(project, name), label: 'Add', icon: 'upload' },
    { href: addressOf.knowledgeBaseSettings(project, name), label: 'Settings', icon: 'settings' },
  ] as const
  const tab = useTabOf(tabs)
  const isMissing = useIsMissing('knowledgeBases', { project, name })
  useShortcuts([
    { keys: 'd', does: 'Its documents', run: () => route(tabs[0].href) },
    { keys: 's', does: 'Search it', run: () => route(tabs[1].href) },
    { keys: 'm', does: 'Its map', run: () => route(tabs[2].href) },
    { keys: 'a', does: 'Add to it', run: () => route(tabs[3].href) },
    { keys: ',', does: 'Its settings', run: () => route(tabs[4].href) },
  ])
  if (isMissing) return <Missing project={project} name={name} />
  return (
    <>
      <PageHeader
        title={name}
        part={props.part ?? tab?.label}
        above={[{ label: 'Home', href: '/' }]}
        lead={<KnowledgeBaseFacts project={project} name={name} />}
      >
        {actions}
      </PageHeader>
      <Tabs
        label="Views of this knowledge base"
        tabs={may('write') ? tabs : tabs.filter(({ label }) => label !== 'Add')}
      />
      {children}
    </>
  )
}

function Missing({ project, name }: KnowledgeBaseName) {
  return (
    <>
      <PageHeader title={name} above={[{ label: 'Home', href: '/' }]} />
      <EmptyState icon="database" title="There is no knowledge base of this name">
        <p class="quiet" dir="auto">
          {project} has none that is called {name}. It may have been deleted or renamed.
        </p>
        <a
          class="button primary"
          href={`${addressOf.newKnowledgeBase()}?${new URLSearchParams({ project })}`}
        >
          New knowledge base
        </a>
      </EmptyState>
    </>
  )
}
