/** What all views of one knowledge base have around them: its name and the way to each of them. */
import type { ComponentChildren } from 'preact'
import { PageHeader } from '../../components/page-header.tsx'
import { Tabs, useTabOf } from '../../components/tabs.tsx'
import { addressOf } from '../../shell/addresses.ts'

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
  const tabs = [
    { href: addressOf.knowledgeBase(project, name), label: 'Documents', icon: 'file' },
    { href: addressOf.searchLab(project, name), label: 'Search', icon: 'search' },
    { href: addressOf.map(project, name), label: 'Map', icon: 'map' },
    { href: addressOf.addDocuments(project, name), label: 'Add', icon: 'upload' },
    { href: addressOf.knowledgeBaseSettings(project, name), label: 'Settings', icon: 'settings' },
  ] as const
  const tab = useTabOf(tabs)
  return (
    <>
      <PageHeader
        title={name}
        part={props.part ?? tab?.label}
        above={[{ label: 'Home', href: '/' }]}
      >
        {actions}
      </PageHeader>
      <Tabs label="Views of this knowledge base" tabs={tabs} />
      {children}
    </>
  )
}

/** What the router gives a view of a knowledge base. */
export interface KnowledgeBaseAddress {
  readonly project: string
  readonly name: string
}
