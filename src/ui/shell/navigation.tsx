/** Links to all views: the tools, and each project with its contents. */
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ProjectContents, projects } from '../api/catalog.ts'
import { may } from '../api/session.ts'
import { Icon, type IconName } from '../components/button.tsx'
import { shownProject } from '../components/numbers.ts'
import { addressOf } from './addresses.ts'
import { PALETTE_KEYS } from './palette.tsx'

/** The most entries shown per project. The palette finds the others. */
const SHOWN_MAX = 200

export function Navigation() {
  const here = useRef<HTMLElement>(null)
  const { path } = useLocation()
  const all = projects.value ?? []
  useEffect(() => {
    here.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [path, all])
  return (
    <nav ref={here} class="navigation" aria-label="Main">
      <ul>
        <Entry href="/" icon="home" label="Home" />
        <Entry href="/sql" icon="sql" label="SQL" />
        <Entry href={addressOf.connections()} icon="link" label="Connections" />
        <Entry href="/operations" icon="gauge" label="Operations" />
      </ul>
      {all.map((project) => (
        <ProjectEntries key={project.name} project={project} />
      ))}
      {may('write') && (
        <ul>
          <Entry href={addressOf.newKnowledgeBase()} icon="plus" label="New knowledge base" />
          <Entry href={addressOf.newAgent()} icon="plus" label="New agent" />
        </ul>
      )}
    </nav>
  )
}

function ProjectEntries({ project }: { readonly project: ProjectContents }) {
  const { name } = project
  const entries = [
    ...project.knowledgeBases.map((one) => {
      return {
        href: addressOf.knowledgeBase(name, one.name),
        label: one.name,
        icon: 'database' as const,
      }
    }),
    ...project.agents.map((one) => {
      return { href: addressOf.agent(name, one.name), label: one.name, icon: 'agent' as const }
    }),
  ]
  const moreCount = entries.length - SHOWN_MAX
  return (
    <div role="group" aria-label={`Project ${shownProject(name)}`}>
      <h2 dir="auto">{shownProject(name)}</h2>
      <ul>
        {entries.slice(0, SHOWN_MAX).map((entry) => (
          <Entry key={entry.href} {...entry} />
        ))}
        {moreCount > 0 && (
          <li class="small quiet">
            and {moreCount} more: find them with {PALETTE_KEYS}
          </li>
        )}
        {entries.length === 0 && <li class="small quiet">Empty</li>}
      </ul>
    </div>
  )
}

/** Labels of icons for screen readers. */
const WORDS: Partial<Readonly<Record<IconName, string>>> = {
  database: ', knowledge base',
  agent: ', agent',
}

interface EntryProps {
  readonly href: string
  readonly icon: IconName
  readonly label: string
}

function Entry({ href, icon, label }: EntryProps) {
  const { path } = useLocation()
  const isHere = path === href || (href !== '/' && path.startsWith(`${href}/`))
  return (
    <li>
      <a href={href} aria-current={isHere ? 'page' : undefined} title={label}>
        <Icon name={icon} />
        <span dir="auto">{label}</span>
        {WORDS[icon] && <span class="visually-hidden">{WORDS[icon]}</span>}
      </a>
    </li>
  )
}
